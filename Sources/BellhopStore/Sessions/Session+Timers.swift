import BellhopCore

extension Session {
    func nextTimer(after time: Timestamp, besides waiting: WaitingTimers) throws -> Timestamp? {
        var statement = try prepare(SQL.Timers.nextDue)
        try statement.bind(":after", time)
        try Self.bind(waiting, to: &statement)
        return try statement.next() ? statement.optionalTime(0) : nil
    }

    /// The timers that are due: by their times, then by the places of their rules, then by when they were set.
    func dueTimers(at now: Timestamp, limit: Int, besides waiting: WaitingTimers) throws -> [RuleTimer] {
        var statement = try prepare(SQL.Timers.due)
        try statement.bind(":now", now)
        try Self.bind(waiting, to: &statement)
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
            due += try dueTimers(of: last, limit: limit - due.count, besides: waiting)
        }
        return due.sorted { ($0.timer.due, $0.place, $0.id) < ($1.timer.due, $1.place, $1.id) }.map(\.timer)
    }

    private struct DueTimer {
        var timer: RuleTimer
        var place: Int64
        var id: Int64
    }

    /// The first timers of one moment. Looks at no more than these: a moment may have a great many.
    private func dueTimers(of due: Timestamp, limit: Int, besides waiting: WaitingTimers) throws -> [DueTimer] {
        let names = try rows(SQL.Timers.rulesDue, (":due", due)) { row in row.text(0) }
        var statement = try prepare(SQL.Timers.dueOfRule)
        var timers: [DueTimer] = []
        for name in names where timers.count < limit {
            try statement.bind(":due", due)
            try statement.bind(":rule", name)
            try Self.bind(waiting, to: &statement)
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
            try insert.bind(":payload", text: StoredForm.timer.stamp(.object(timer.payload)).encoded())
            try insert.run()
        }
    }

    private static func bind(_ waiting: WaitingTimers, to statement: inout Prepared) throws {
        try statement.bind(":rules", text: list(Array(waiting.rules)))
        try statement.bind(":absences", text: list(Array(waiting.absences)))
        try statement.bind(":sources", text: list(Array(waiting.sources)))
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
            .init(rule: row.text(0), kind: kind, key: row.text(2)), due: row.time(3),
            payload: try row.json(4, as: .timer).asObject ?? [:])
    }
}

extension SQL {
    enum Timers {
        static let nextDue = "SELECT due FROM timer WHERE due > :after AND \(mayFire) ORDER BY due LIMIT 1"

        /// False for the timers of paused rules, and for those that wait for a poll.
        private static let mayFire = """
            timer.rule NOT IN (SELECT rule FROM pause) AND timer.rule NOT IN (SELECT value FROM json_each(:rules))
            AND NOT (timer.kind IN (\(evaluating)) AND (
                timer.kind = 'absence' AND timer.rule IN (SELECT value FROM json_each(:absences))
                OR \(source) IN (SELECT value FROM json_each(:sources))))
            """

        /// The kinds of timers that evaluate a condition again.
        private static let evaluating = RuleTimer.Kind.allCases.filter(\.reevaluatesCondition).map { "'\($0.rawValue)'" }
            .joined(separator: ", ")

        /// The source of such a timer, as ``RuleTimer/source`` reads it.
        private static let source = """
            iif(timer.kind = 'absence', coalesce(timer.payload ->> '$.source', ''),
                substr(timer.key, 1, instr(timer.key || '/', '/') - 1))
            """

        private static let columns = """
            timer.rule, timer.kind, timer.key, timer.due, timer.payload, rule.place, timer.id
            FROM timer JOIN rule ON rule.name = timer.rule
            """

        /// The due timers, in the order of the index.
        static let due = """
            SELECT \(columns)
            WHERE timer.due <= :now AND \(mayFire)
            ORDER BY timer.due, timer.rule, timer.id
            LIMIT :limit
            """

        /// The rules that have timers at one moment, in their order. Finds each with one step in the index.
        static let rulesDue = """
            WITH RECURSIVE found (rule) AS (
                SELECT min(rule) FROM timer WHERE due = :due
                UNION ALL
                SELECT (SELECT min(rule) FROM timer WHERE due = :due AND rule > found.rule) FROM found WHERE rule IS NOT NULL
            )
            SELECT rule.name FROM found JOIN rule ON rule.name = found.rule
            WHERE found.rule NOT IN (SELECT rule FROM pause)
            ORDER BY rule.place
            """

        static let dueOfRule = """
            SELECT \(columns)
            WHERE timer.due = :due AND timer.rule = :rule AND \(mayFire)
            ORDER BY timer.id
            LIMIT :limit
            """

        static let find = "SELECT rule, kind, key, due, payload FROM timer WHERE \(isNamed)"

        /// Adds a timer; `cancel` runs first, so that a timer that is set again gets a new id. A removed rule gets no timer.
        static let insert = """
            INSERT INTO timer (rule, kind, key, name_key, due, payload)
            SELECT :rule, :kind, :key, name_key(:rule, :kind, :key), :due, :payload
            WHERE EXISTS (SELECT 1 FROM rule WHERE name = :rule)
            """

        static let cancel = "DELETE FROM timer WHERE \(isNamed) AND (:due IS NULL OR due = :due)"

        private static let isNamed = SQL.isNamed(":rule", ":kind", ":key")

        static let removeAll = "DELETE FROM timer WHERE rule = :rule"

        /// Ends the waits and groups of a rule, but not its schedule and escalations.
        static let removeWaits = "DELETE FROM timer WHERE rule = :rule AND kind NOT IN ('schedule', 'escalation')"

        /// Sets the `existing` timers of a source that has made its baseline. `endExisting` runs first.
        static let beginExisting = """
            INSERT INTO timer (rule, kind, key, name_key, due, payload)
            SELECT name, 'existing', :source, name_key(name, 'existing', :source), :now, '{}'
            FROM rule WHERE begins_by_itself = 1
            """

        static let endExisting = """
            DELETE FROM timer
            WHERE name_key IN (SELECT name_key(name, 'existing', :source) FROM rule WHERE begins_by_itself = 1)
                AND +kind = 'existing' AND key = :source
            """
    }
}
