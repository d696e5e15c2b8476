import BellhopCore

/// The waits of rules, for the status. Each statement reads a limited number of timers, however many there are.
extension Session {
    /// The most timers that are listed, and the most keys of each rule's counts.
    private static let (maxUpcoming, maxKeys) = (10, 3)

    func waits(at now: Timestamp) throws -> [StoreStatus.WaitStatus] {
        let most = StoreStatus.WaitStatus.most
        var statement = try prepare(SQL.Queries.waits, (":now", now), (":most", most))
        var waits: [StoreStatus.WaitStatus] = []
        while try statement.next() {
            let rule = statement.text(0)
            let (holds, groups, absences) = (Int(statement.int(1)), Int(statement.int(4)), Int(statement.int(8)))
            let all = [
                StoreStatus.WaitStatus(rule: rule, part: .match, count: Int(statement.int(7))),
                StoreStatus.WaitStatus(
                    rule: rule, part: .absence, count: absences, next: absences > most ? nil : statement.optionalTime(9)),
                StoreStatus.WaitStatus(
                    rule: rule, part: .hold, count: holds, next: holds > most ? nil : statement.optionalTime(2)),
                StoreStatus.WaitStatus(rule: rule, part: .count, count: Int(statement.int(3))),
                StoreStatus.WaitStatus(
                    rule: rule, part: .group, count: groups, gathered: Int(statement.int(6)),
                    next: groups > most ? nil : statement.optionalTime(5)),
            ]
            waits += all.filter { $0.count > 0 }
        }
        return try waits + escalations()
    }

    private func escalations() throws -> [StoreStatus.WaitStatus] {
        let most = StoreStatus.WaitStatus.most
        return try rows(SQL.Queries.escalations, (":most", most)) { row in
            let count = Int(row.int(1))
            guard count > 0 else { return nil }
            return StoreStatus.WaitStatus(
                rule: row.text(0), part: .escalation, count: count, next: count > most ? nil : row.optionalTime(2))
        }
    }

    func counts(among waits: [StoreStatus.WaitStatus], at now: Timestamp) throws -> [StoreStatus.CountStatus] {
        let rules = waits.filter { $0.part == .count }.map(\.rule)
        var statement = try prepare(SQL.Queries.counts)
        try statement.bind(":now", now)
        var counts: [StoreStatus.CountStatus] = []
        for rule in rules {
            for name in [rule, "shadow/\(rule)"] {
                try statement.bind(":rule", name)
                try statement.bind(":limit", Self.maxKeys)
                while try statement.next() {
                    counts.append(StoreStatus.CountStatus(rule: rule, key: statement.text(0), count: Int(statement.int(1))))
                }
                statement.stop()
            }
        }
        return counts
    }

    /// The next timers, and how many more there are.
    func upcoming() throws -> ([StoreStatus.UpcomingStatus], later: Int) {
        var statement = try prepare(SQL.Queries.upcoming, (":limit", Self.maxUpcoming))
        var numbers = try prepare(SQL.Queries.number)
        var upcoming: [StoreStatus.UpcomingStatus] = []
        var shown = 0
        while try statement.next() {
            shown += 1
            guard let timer = try Self.timer(statement) else { continue }
            let subject = statement.optionalText(5)
            var number: String?
            if let task = Self.task(of: timer, subject) {
                try numbers.bind(":key", key: task)
                if try numbers.next() { number = numbers.optionalText(0) }
                numbers.stop()
            }
            upcoming.append(
                StoreStatus.UpcomingStatus(
                    timer: timer, subject: subject, number: number,
                    gathered: statement.isNull(6) ? nil : Int(statement.int(6))))
        }
        var counting = try prepare(SQL.Queries.upcomingCount, (":most", StoreStatus.WaitStatus.most))
        let all = try counting.next() ? Int(counting.int(0)) : 0
        return (upcoming, max(0, all - shown))
    }

    /// The id of the task that a timer may be about: the end of its subject, or from its key.
    private static func task(of timer: RuleTimer, _ subject: String?) -> String? {
        if let subject {
            let id = String(PathText.name(of: subject))
            return id.hasBytes(of: subject) ? nil : id
        }
        switch timer.id.kind {
        // The source and the task.
        case .escalation: return timer.id.key.dividedAtSlashes(into: 2)?[1]
        // With `by: task.id`; any other key is not a task's id.
        case .absence: return timer.id.key
        case .hold, .group, .schedule, .existing: return nil
        }
    }
}
