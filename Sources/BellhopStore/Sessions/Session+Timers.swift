import BellhopCore

extension Session {
    func nextTimer(after time: Timestamp) throws -> Timestamp? {
        var statement = try prepare(SQL.Timers.nextDue)
        try statement.bind(":after", time)
        return try statement.next() ? statement.optionalTime(0) : nil
    }

    /// The timers that are due: by their times, then by the places of their rules, then by when they were set.
    func dueTimers(at now: Timestamp, limit: Int) throws -> [RuleTimer] {
        var statement = try prepare(SQL.Timers.due)
        try statement.bind(":now", now)
        try statement.bind(":limit", limit)
        var due: [DueTimer] = []
        var read = 0
        while try statement.next() {
            read += 1
            if let timer = try Self.dueTimer(statement) { due.append(timer) }
        }
        // More timers may be due at the last moment than were read. Read them again, in the order of their rules.
        if read == limit, let last = due.last?.timer.due {
            due.removeAll { $0.timer.due == last }
            due += try dueTimers(of: last, limit: limit - due.count)
        }
        return due.sorted { ($0.timer.due, $0.place, $0.id) < ($1.timer.due, $1.place, $1.id) }.map(\.timer)
    }

    private struct DueTimer {
        var timer: RuleTimer
        /// The place of its rule.
        var place: Int64
        var id: Int64
    }

    /// The first timers of one moment. Looks at no more than these: a moment may have a great many.
    private func dueTimers(of due: Timestamp, limit: Int) throws -> [DueTimer] {
        var rules = try prepare(SQL.Timers.rulesDue)
        try rules.bind(":due", due)
        var names: [String] = []
        while try rules.next() { names.append(rules.text(0)) }
        var statement = try prepare(SQL.Timers.dueOfRule)
        var timers: [DueTimer] = []
        for name in names where timers.count < limit {
            try statement.bind(":due", due)
            try statement.bind(":rule", name)
            try statement.bind(":limit", limit - timers.count)
            while try statement.next() {
                if let timer = try Self.dueTimer(statement) { timers.append(timer) }
            }
        }
        return timers
    }

    private static func dueTimer(_ row: borrowing Prepared) throws -> DueTimer? {
        try timer(row).map { DueTimer(timer: $0, place: row.int(5), id: row.int(6)) }
    }

    func timers(_ ids: [RuleTimer.ID]) throws -> [RuleTimer] {
        var statement = try prepare(SQL.Timers.find)
        var timers: [RuleTimer] = []
        for id in ids {
            try Self.bind(id, to: &statement)
            if try statement.next(), let timer = try Self.timer(statement) { timers.append(timer) }
            statement.stop()
        }
        return timers
    }

    /// Ends timers that came due. Throws ``RouteConflict`` if one has moved or is gone.
    func end(_ timers: [RuleTimer]) throws {
        guard !timers.isEmpty else { return }
        var statement = try prepare(SQL.Timers.cancel)
        for timer in timers {
            try Self.bind(timer.id, to: &statement)
            try statement.bind(":due", timer.due)
            if try statement.run() == 0 { throw RouteConflict.timer(timer.id) }
        }
    }

    func change(_ changes: [TimerChange]) throws {
        guard !changes.isEmpty else { return }
        var insert = try prepare(SQL.Timers.insert)
        var cancel = try prepare(SQL.Timers.cancel)
        for change in changes {
            try Self.bind(change.id, to: &cancel)
            try cancel.bind(":due", nil as Timestamp?)
            try cancel.run()
            guard case .set(let timer) = change else { continue }
            try Self.bind(timer.id, to: &insert)
            try insert.bind(":due", timer.due)
            try insert.bind(":payload", text: JSON.object(timer.payload).encoded())
            try insert.run()
        }
    }

    private static func bind(_ id: RuleTimer.ID, to statement: inout Prepared) throws {
        try statement.bind(":rule", id.rule)
        try statement.bind(":kind", id.kind.rawValue)
        try statement.bind(":key", id.key)
    }

    /// Nil for a kind that only a newer version knows: other timers must not wait for it.
    static func timer(_ row: borrowing Prepared) throws -> RuleTimer? {
        guard let kind = RuleTimer.Kind(rawValue: row.text(1)) else { return nil }
        return RuleTimer(
            .init(rule: row.text(0), kind: kind, key: row.text(2)), due: row.time(3), payload: try row.json(4).asObject ?? [:])
    }
}
