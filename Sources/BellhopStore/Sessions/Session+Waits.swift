import BellhopCore

/// What rules wait for: the beginning and the end of waits, counts, groups and escalations.
extension Session {
    /// Ends the rule's waits, counts and groups, because the rule is new or their definitions have changed. Returns the number of runs
    /// that waited.
    func beginWaits(_ rule: RuleRegistration, ending: DecisionRecord.Ending, at now: Timestamp) throws -> Int {
        try run(SQL.Timers.removeWaits, (":rule", rule.name))
        let ended = try forgetWaits(of: rule.name, ending: ending, at: now)
        if rule.beginsByItself { try change([.set(RuleTimer(.init(rule: rule.name, kind: .existing), due: now))]) }
        return ended
    }

    /// Lets waits of a rule that begin by themselves begin for these sources, or for none (`""`). Absences that wait begin anew.
    func beginByItself(_ rule: String, for sources: [String], at now: Timestamp) throws {
        for source in sources {
            try run(SQL.Rules.endAbsence, (":rule", rule), (":key", source))
            try change([
                .cancel(RuleTimer.ID(rule: rule, kind: .absence, key: source)),
                .set(RuleTimer(RuleTimer.ID(rule: rule, kind: .existing, key: source), due: now)),
            ])
        }
    }

    /// Computes the due times of a rule's waits again, because its calendars have changed.
    func recompute(_ rule: String, at now: Timestamp) throws {
        try run(SQL.Rules.recompute[0], (":rule", rule), (":now", now))
        try run(SQL.Rules.recompute[1], (":rule", rule))
    }

    /// Deletes the waits, counts and gathered events of a rule, and records that waiting runs have ended. Returns the number of these.
    func forgetWaits(of rule: String, ending: DecisionRecord.Ending, at now: Timestamp) throws -> Int {
        let ended = try count(SQL.Rules.waitingCount, of: rule, at: now)
        var waiting = try prepare(SQL.Rules.waiting, (":rule", rule))
        try record(ending, of: &waiting, at: now)
        try run(SQL.Rules.forgetWaits, (":rule", rule))
        return ended
    }

    /// - Parameter counting: a statement of `SQL.Rules` that counts runs of a rule.
    private func count(_ counting: String, of rule: String, at now: Timestamp) throws -> Int {
        try rows(counting, (":rule", rule), (":now", now)) { row in Int(row.int(0)) }.first ?? 0
    }

    /// Records that waiting runs have ended.
    /// - Parameter waiting: a statement of `SQL.Rules` that finds them.
    func record(_ ending: DecisionRecord.Ending, of waiting: inout Prepared, at now: Timestamp) throws {
        try waiting.bind(":now", now)
        try waiting.bind(":limit", DecisionRecord.most)
        var records: [DecisionRecord] = []
        var counts: [[String]: Int64] = [:]
        while try waiting.next() {
            guard let kind = StateKey.Kind(rawValue: waiting.text(1)) else { continue }
            let key = StateKey(rule: waiting.text(0), kind: kind, key: waiting.text(2), element: waiting.text(3))
            var detail: JSON.Object = ["ending": .string(ending.rawValue)]
            // A wait for an element of a list is named by that element.
            detail["key"] = .string(kind == .hold && key.key.isEmpty ? key.element : key.key)
            if let part = kind.part { detail["part"] = .string(part) }
            let verdict: DecisionRecord.Verdict = kind == .escalation ? .ended : .endedEarly
            let number = counts[[key.ruleName, verdict.rawValue], default: 0] + 1
            counts[[key.ruleName, verdict.rawValue]] = number
            records.append(
                DecisionRecord(
                    rule: key.ruleName, verdict: verdict, occasion: Occasion.ID(waiting.optionalText(4) ?? key.element),
                    at: now, number: number, detail: detail))
        }
        waiting.stop()
        try add(records)
    }

    /// Deletes the escalations of a rule, and records that they have ended. Returns the number of these.
    func forgetEscalations(of rule: String, ending: DecisionRecord.Ending, at now: Timestamp) throws -> Int {
        let ended = try count(SQL.Rules.escalatingCount, of: rule, at: now)
        var escalating = try prepare(SQL.Rules.escalating, (":rule", rule))
        try record(ending, of: &escalating, at: now)
        for sql in SQL.Rules.forgetEscalations { try run(sql, (":rule", rule)) }
        return ended
    }
}

extension SQL.Rules {
    /// Deletes the waits, counts and gathered events of a rule, in both modes.
    static let forgetWaits = """
        DELETE FROM rule_state
        WHERE rule IN (:rule, 'shadow/' || :rule) AND kind IN ('hold', 'count', 'group', 'gathered', 'match', 'absence', 'begun')
        """

    /// Ends an absence that no event began.
    static let endAbsence = """
        DELETE FROM rule_state
        WHERE rule IN (:rule, 'shadow/' || :rule) AND kind = 'absence' AND key = :key AND event IS NULL
        """

    /// The runs that a rule waits for, has counted and has gathered, the newest first.
    static let waiting = "\(waits) WHERE rule IN (:rule, 'shadow/' || :rule) AND \(isWaiting) ORDER BY at DESC LIMIT :limit"

    /// How many these are, with the waits that began with the rule, without an event.
    static let waitingCount = """
        SELECT count(*) FROM (
            \(waits) WHERE rule IN (:rule, 'shadow/' || :rule) AND (\(isWaiting) OR kind = 'hold' AND value ->> '$.ran' = 0))
        """

    /// The runs whose escalations of a rule are under way. Scans all escalations.
    static let escalating = "\(escalations) ORDER BY at DESC LIMIT :limit"

    static let escalatingCount = "SELECT count(*) FROM (\(escalations))"

    private static let escalations = "\(waits) WHERE rule = '' AND kind = 'escalation' AND element = :rule AND \(isWaiting)"

    static let waitingAbout = "\(waits) WHERE subject = :subject AND \(isWaiting) ORDER BY at DESC LIMIT :limit"

    private static let waits = """
        SELECT rule, kind, key, element, value ->> '$.run' AS run, value ->> '$.at' AS at FROM rule_state
        """

    /// True for a row of a run that still waits. False for a row without an event, one that has run or expired, a part of a run, and
    /// an escalation after its last step. A wait and an escalation have the run's id in `run`; a counted or gathered run has it in
    /// `element`.
    private static let isWaiting = """
        value ->> '$.event' IS NOT NULL AND (expires IS NULL OR expires > :now)
        AND CASE kind
            WHEN 'hold' THEN run IS NOT NULL AND value ->> '$.ran' = 0
            WHEN 'absence' THEN run IS NOT NULL
            WHEN 'count' THEN value ->> '$.part' IS NULL
            WHEN 'escalation' THEN value ->> '$.closes' IS NULL
            ELSE kind IN ('gathered', 'match')
        END
        """

    /// End the escalations of a rule that is removed or turned off, without closing what they opened at pagers. The second scans all
    /// escalations.
    static let forgetEscalations = [
        "DELETE FROM timer WHERE rule = :rule AND kind = 'escalation'",
        "DELETE FROM rule_state WHERE rule = '' AND kind = 'escalation' AND element = :rule",
        "DELETE FROM rule_state WHERE rule = :rule AND kind IN ('escalated', 'steps')",
    ]

    /// Makes the waits of a rule due now, so that their due times are computed again. Their state does not expire before.
    static let recompute = [
        """
        UPDATE timer SET due = min(due, :now), payload = json_set(payload, '$.again', json('true'))
        WHERE rule = :rule AND kind IN ('hold', 'absence')
        """,
        """
        UPDATE rule_state SET expires = NULL
        WHERE rule IN (:rule, 'shadow/' || :rule) AND kind IN ('count', 'match')
        """,
    ]
}
