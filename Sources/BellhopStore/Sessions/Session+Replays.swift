import BellhopCore

extension Session {
    func replay(
        _ events: [StoredEvent], rule: String?, isForced: Bool, by person: Person?, at now: Timestamp
    ) throws -> Int {
        var count = 0
        for event in events {
            var insert = try prepare(SQL.Replays.insert)
            try insert.bind(":event", event.sequence)
            try insert.bind(":rule", rule)
            try insert.bind(":forced", isForced)
            try insert.bind(":at", now)
            guard try insert.run() == 1 else { continue }
            count += 1
            var facts: JSON.Object = ["event": .string(event.event.id.text), "type": .string(event.event.type.name)]
            if let rule { facts["rule"] = .string(rule) }
            if isForced { facts["force"] = true }
            try audit(.replay, by: person, facts, at: now)
        }
        return count
    }

    func replays(limit: Int) throws -> [Replay] {
        var statement = try prepare(SQL.Replays.waiting)
        try statement.bind(":limit", limit)
        var replays: [Replay] = []
        while try statement.next() {
            replays.append(
                Replay(
                    id: statement.int(9), event: try StoredEvent(statement), rule: statement.optionalText(10),
                    isForced: statement.int(11) == 1, at: statement.time(12)))
        }
        return replays
    }

    /// Removes a replay; false if it was removed before.
    func end(replay id: Int64) throws -> Bool {
        let count = try run(SQL.Replays.remove) { try $0.bind(":id", id) }
        return count == 1
    }
}
