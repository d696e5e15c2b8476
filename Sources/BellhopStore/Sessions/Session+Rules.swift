import BellhopCore

extension Session {
    private struct RuleRow {
        var since: Int64
        var schedule: String?
        var due: Timestamp?
    }

    func register(_ rules: [RuleRegistration], at now: Timestamp) throws -> [String: Int64] {
        var present = try ruleRows()
        let last = try int(SQL.Rules.lastPlace)
        var since: [String: Int64] = [:]
        for rule in rules where since[rule.name] == nil {
            if let row = present.removeValue(forKey: rule.name) {
                since[rule.name] = row.since
                try update(rule, row)
            } else {
                since[rule.name] = last
                try insert(rule, since: last)
            }
        }
        var remove = try prepare(SQL.Rules.remove)
        for name in present.keys {
            try remove.bind(":name", name)
            try remove.run()
        }
        return since
    }

    func nextTimer() throws -> Timestamp? {
        var statement = try prepare(SQL.Rules.nextDue)
        return try statement.next() ? statement.optionalTime(0) : nil
    }

    func dueTimers(at now: Timestamp) throws -> [RuleTimer] {
        var statement = try prepare(SQL.Rules.due)
        try statement.bind(":now", now)
        var timers: [RuleTimer] = []
        while try statement.next() { timers.append(RuleTimer(rule: statement.text(0), due: statement.time(1))) }
        return timers
    }

    /// Advances each timer and adds its events, unless it has changed meanwhile.
    func fire(_ firings: [TimerFiring]) throws {
        var statement = try prepare(SQL.Rules.fire)
        for firing in firings {
            try statement.bind(":next", firing.next)
            try statement.bind(":name", firing.timer.rule)
            try statement.bind(":due", firing.timer.due)
            if try statement.run() == 1 { try append(firing.events) }
        }
    }

    private func ruleRows() throws -> [String: RuleRow] {
        var rows: [String: RuleRow] = [:]
        var statement = try prepare(SQL.Rules.all)
        while try statement.next() {
            rows[statement.text(0)] = RuleRow(
                since: statement.int(1), schedule: statement.optionalText(2), due: statement.optionalTime(3))
        }
        return rows
    }

    /// A timer continues while its schedule's text is the same; if the clock was set back, it starts from the current time.
    private func update(_ rule: RuleRegistration, _ row: RuleRow) throws {
        var due = rule.schedule?.next
        if let schedule = rule.schedule, schedule.text == row.schedule { due = row.due.map { min($0, schedule.next) } }
        var statement = try prepare(SQL.Rules.update)
        try statement.bind(":revision", rule.revision)
        try statement.bind(":schedule", rule.schedule?.text)
        try statement.bind(":due", due)
        try statement.bind(":off", rule.isOff)
        try statement.bind(":name", rule.name)
        try statement.run()
    }

    private func insert(_ rule: RuleRegistration, since: Int64) throws {
        var statement = try prepare(SQL.Rules.insert)
        try statement.bind(":name", rule.name)
        try statement.bind(":revision", rule.revision)
        try statement.bind(":since", since)
        try statement.bind(":schedule", rule.schedule?.text)
        try statement.bind(":due", rule.schedule?.next)
        try statement.bind(":off", rule.isOff)
        try statement.run()
    }
}
