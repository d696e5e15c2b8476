import BellhopCore

/// Pauses of rules and of all writes.
extension Session {
    func pauses() throws -> [Pause] {
        try rows(SQL.Pauses.all) { row in
            let rule = row.text(0)
            return Pause(
                rule.isEmpty ? .writes : .rule(rule), since: row.time(1), reason: row.text(2), isByPerson: row.int(3) == 1)
        }
    }

    func pause(_ pause: Pause, by person: Person?) throws -> Bool {
        guard try keep(pause) else { return false }
        var facts = pause.subject.audited
        facts["reason"] = .string(pause.reason)
        try audit(.pause, by: person, facts, at: pause.since)
        return true
    }

    /// Stores a pause without a row of the audit; false if its subject is already paused.
    func keep(_ pause: Pause) throws -> Bool {
        let changed = try run(
            SQL.Pauses.insert, (":rule", pause.subject.stored), (":since", pause.since), (":reason", pause.reason),
            (":by_person", pause.isByPerson ? 1 : 0))
        return changed == 1
    }

    func resume(_ subject: Pause.Subject, by person: Person?, at now: Timestamp) throws -> Bool {
        let count = try run(SQL.Pauses.remove, (":rule", subject.stored))
        guard count == 1 else { return false }
        try run(SQL.Pauses.skipEvents, (":rule", subject.stored))
        if case .rule(let name) = subject {
            // The rule does not know whether the events of its absences came during its pause.
            try beginByItself(name, for: rows(SQL.Pauses.absences, (":rule", name)) { row in row.text(0) }, at: now)
            // Nor does it know whether the conditions for which it ran have ended: they are evaluated again.
            let ended = try rows(SQL.Pauses.endedWaits, (":rule", name)) { row in row.text(0) }
            try change(ended.map { .set(RuleTimer(RuleTimer.ID(rule: name, kind: .hold, key: $0), due: now)) })
        }
        try audit(.resume, by: person, subject.audited, at: now)
        return true
    }

    func areWritesPaused() throws -> Bool { try int(SQL.Pauses.writesArePaused) == 1 }
}

extension Pause.Subject {
    /// No rule has an empty name.
    fileprivate var stored: String {
        switch self {
        case .rule(let name): name
        case .writes: ""
        }
    }

    fileprivate var audited: JSON.Object {
        switch self {
        case .rule(let name): ["rule": .string(name)]
        case .writes: ["writes": true]
        }
    }
}

extension SQL {
    enum Pauses {
        static let insert = """
            INSERT INTO pause (rule, since, reason, by_person) VALUES (:rule, :since, :reason, :by_person)
            ON CONFLICT (rule) DO NOTHING
            """

        static let remove = "DELETE FROM pause WHERE rule = :rule"

        static let all = "SELECT rule, since, reason, by_person FROM pause ORDER BY rule"

        static let writesArePaused = "SELECT EXISTS (SELECT 1 FROM pause WHERE rule = '')"

        /// A resumed rule does not see the events that came while it was paused.
        static let skipEvents = "UPDATE rule SET since = (\(Rules.lastPlace)) WHERE name = :rule"

        /// The waits of `for` after which the rule ran. Those for elements of a list end with the list.
        static let endedWaits = """
            SELECT key FROM rule_state
            WHERE rule IN (:rule, 'shadow/' || :rule) AND kind = 'hold' AND element = '' AND value ->> '$.ran' = 1
            """

        /// The absences that no event began.
        static let absences = """
            SELECT key FROM rule_state
            WHERE rule IN (:rule, 'shadow/' || :rule) AND kind = 'absence' AND event IS NULL
            """
    }
}
