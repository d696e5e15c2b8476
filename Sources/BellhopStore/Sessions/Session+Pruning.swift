import BellhopCore

extension Session {
    /// One step of forgetting.
    enum PruningStep: Sendable {
        case events(after: Int64)
        case deliveries(after: Int64)
        case rest
    }

    /// Takes one step, of a thousand rows at most where there may be many; how many rows went, and the step after it.
    ///
    /// - Parameter scopes: what is in use, and stays however long ago it was heard of.
    func prune(
        _ step: PruningStep, _ retention: Retention, keeping scopes: Set<Scope.ID>, at now: Timestamp
    ) throws -> (removed: Int, next: PruningStep?) {
        switch step {
        case .events(let after):
            let (removed, last) = try walk(SQL.Pruning.events, SQL.Pruning.removeEvents, after, before: now - retention.events)
            return (removed, last.map { .events(after: $0) } ?? .deliveries(after: 0))
        case .deliveries(let after):
            let (removed, last) = try walk(
                SQL.Pruning.deliveries, SQL.Pruning.removeDeliveries, after, before: now - retention.deliveries)
            if let last, removed > 0 { try forgetWaits(after: after, through: last) }
            return (removed, last.map { .deliveries(after: $0) } ?? .rest)
        case .rest:
            // A task that is forgotten counts its changes anew: its new events must not meet old ones of the same identity.
            let limit = now - max(retention.forgotten, retention.events)
            return (try forget(before: limit, keeping: scopes) + expire(at: now) + forgetNotes() + forgetRests(at: now), nil)
        }
    }

    /// Removes what is old among the next thousand rows; the last of those, or nil when none of them was old.
    private func walk(
        _ look: String, _ remove: String, _ after: Int64, before limit: Timestamp
    ) throws -> (removed: Int, last: Int64?) {
        var looking = try prepare(look)
        try looking.bind(":before", limit)
        try looking.bind(":after", after)
        guard try looking.next(), looking.int(0) > 0, looking.int(2) > 0 else { return (0, nil) }
        let last = looking.int(1)
        var removing = try prepare(remove)
        try removing.bind(":after", after)
        try removing.bind(":last", last)
        try removing.bind(":before", limit)
        return (try removing.run(), last)
    }

    /// Forgets what waited as, or for, those of these deliveries that are gone.
    private func forgetWaits(after: Int64, through last: Int64) throws {
        for sql in SQL.Pruning.removeWaits {
            var statement = try prepare(sql)
            try statement.bind(":after", after)
            try statement.bind(":last", last)
            try statement.run()
        }
    }

    /// Forgets removed tasks, and scopes that nothing has been heard of for as long.
    private func forget(before limit: Timestamp, keeping kept: Set<Scope.ID>) throws -> Int {
        var departed = try prepare(SQL.Pruning.removeDeparted)
        try departed.bind(":before", limit)
        var count = try departed.run()
        var scopes: [Int64] = []
        var old = try prepare(SQL.Pruning.oldScopes)
        try old.bind(":before", limit)
        while try old.next() {
            if !kept.contains(Scope.ID(text: old.text(1))) { scopes.append(old.int(0)) }
        }
        for sql in [SQL.Pruning.removeScopeTasks, SQL.Pruning.removeScopeDeparted, SQL.Pruning.removeScope] {
            var statement = try prepare(sql)
            for scope in scopes {
                try statement.bind(":scope", scope)
                count += try statement.run()
            }
        }
        return count
    }

    /// Forgets rests that are over, of receivers that are taken for ones that refuse nothing.
    private func forgetRests(at now: Timestamp) throws -> Int {
        var statement = try prepare(SQL.Pruning.removeRests)
        try statement.bind(":now", now)
        try statement.bind(":since", now - ReceiverPace.memory)
        return try statement.run()
    }

    /// Forgets what was noted of deliveries that are gone.
    private func forgetNotes() throws -> Int {
        var looking = try prepare(SQL.Notes.startingWith)
        try looking.bind(":first", Delivery.notePrefix)
        // What comes after every text that begins so: `0` follows `/`.
        try looking.bind(":end", Delivery.notePrefix.dropLast() + "0")
        var keys: [String] = []
        while try looking.next() { keys.append(looking.text(0)) }
        var finding = try prepare(SQL.Pruning.delivery)
        var count = 0
        for key in keys {
            try finding.bind(":name", key: String(key.dropFirst(Delivery.notePrefix.count)))
            let isThere = try finding.next()
            finding.stop()
            if isThere { continue }
            try setNote(key, to: nil)
            count += 1
        }
        return count
    }

    private func expire(at now: Timestamp) throws -> Int {
        var statement = try prepare(SQL.Pruning.removeState)
        try statement.bind(":now", now)
        return try statement.run()
    }
}
