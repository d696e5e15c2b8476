import BellhopCore

extension Session {
    func replay(
        _ events: [StoredEvent], rule: String?, isForced: Bool, by person: Person?, at now: Timestamp
    ) throws -> Int {
        var count = 0
        for event in events {
            guard
                try run(SQL.Replays.insert, (":event", event.sequence), (":rule", rule), (":forced", isForced), (":at", now)) == 1
            else { continue }
            count += 1
            var facts: JSON.Object = ["event": .string(event.event.id.text), "type": .string(event.event.type.name)]
            if let rule { facts["rule"] = .string(rule) }
            if isForced { facts["force"] = true }
            try audit(.replay, by: person, facts, at: now)
        }
        return count
    }

    func replays(limit: Int) throws -> [Replay] {
        try rows(SQL.Replays.waiting, (":limit", limit)) { row in
            Replay(
                id: row.int(9), event: try StoredEvent(row), rule: row.optionalText(10), isForced: row.int(11) == 1,
                at: row.time(12))
        }
    }

    /// Removes a replay; false if it was removed before.
    func end(replay id: Int64) throws -> Bool {
        let count = try run(SQL.Replays.remove, (":id", id))
        return count == 1
    }
}

extension SQL {
    enum Replays {
        /// Asks to replay an event that still exists. A second request at the same time changes nothing.
        static let insert = """
            INSERT INTO replay (event, rule, forced, at)
            SELECT :event, :rule, :forced, :at WHERE EXISTS (SELECT 1 FROM event WHERE sequence = :event)
            ON CONFLICT (event, at) DO NOTHING
            """

        static let waiting = """
            SELECT \(SQL.Bus.columns), replay.id, replay.rule, replay.forced, replay.at
            FROM replay JOIN event ON event.sequence = replay.event
            ORDER BY replay.id
            LIMIT :limit
            """

        static let remove = "DELETE FROM replay WHERE id = :id"

        static let time = "SELECT time FROM event WHERE \(SQL.has("id", ":id"))"
    }
}
