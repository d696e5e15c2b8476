import BellhopCore

extension Session {
    func nextTimer() throws -> Timestamp? {
        var statement = try prepare(SQL.Timers.nextDue)
        return try statement.next() ? statement.optionalTime(0) : nil
    }

    func dueTimers(at now: Timestamp, limit: Int) throws -> [RuleTimer] {
        var statement = try prepare(SQL.Timers.due)
        try statement.bind(":now", now)
        try statement.bind(":limit", limit)
        var timers: [RuleTimer] = []
        while try statement.next() {
            if let timer = try Self.timer(statement) { timers.append(timer) }
        }
        return timers
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
        var set = try prepare(SQL.Timers.set)
        var cancel = try prepare(SQL.Timers.cancel)
        for change in changes {
            switch change {
            case .set(let timer):
                try Self.bind(timer.id, to: &set)
                try set.bind(":due", timer.due)
                try set.bind(":payload", text: JSON.object(timer.payload).encoded())
                try set.run()
            case .cancel(let id):
                try Self.bind(id, to: &cancel)
                try cancel.bind(":due", nil as Timestamp?)
                try cancel.run()
            }
        }
    }

    private static func bind(_ id: RuleTimer.ID, to statement: inout Prepared) throws {
        try statement.bind(":rule", id.rule)
        try statement.bind(":kind", id.kind.rawValue)
        try statement.bind(":key", id.key)
    }

    /// Nil for a kind that only a newer version knows: other timers must not wait for it.
    private static func timer(_ row: borrowing Prepared) throws -> RuleTimer? {
        guard let kind = RuleTimer.Kind(rawValue: row.text(1)) else { return nil }
        return RuleTimer(
            .init(rule: row.text(0), kind: kind, key: row.text(2)), due: row.time(3), payload: try row.json(4).asObject ?? [:])
    }
}
