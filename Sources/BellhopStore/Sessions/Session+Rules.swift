import BellhopCore

extension Session {
    private struct RuleRow {
        var since: Int64
        var schedule: String?
        var due: Timestamp?
        var waits: String?
        var sources: Set<String>
        var calendars: String?
        var isOff: Bool
        var revision: String
    }

    func register(_ rules: [RuleRegistration], by person: Person?, at now: Timestamp) throws -> RegisteredRules {
        var present = try ruleRows()
        try auditReload(rules, present, by: person, at: now)
        let last = try int(SQL.Rules.lastPlace)
        var registered = RegisteredRules(since: [:])
        for (place, rule) in rules.enumerated() where registered.since[rule.name] == nil {
            let row = present.removeValue(forKey: rule.name)
            registered.since[rule.name] = row?.since ?? last
            var ended = EndedWaits(rule: rule.name, waits: 0, escalations: 0)
            try set(rule, row, place: place, since: last)
            if row == nil { try run(SQL.Rules.keepOnce, (":name", rule.name)) }
            try schedule(rule, row)
            if row == nil || row?.waits != rule.waits {
                ended.waits = try beginWaits(rule, ending: rule.isOff ? .off : .changed, at: now)
            } else {
                if row?.calendars != rule.calendars { try recompute(rule.name, at: now) }
                // A source that is new or renamed in bellhop.yaml may never have a baseline.
                try beginByItself(rule.name, for: Set(rule.sources).subtracting(row?.sources ?? []).sorted(), at: now)
            }
            if rule.isOff, row?.isOff == false {
                ended.escalations = try forgetEscalations(of: rule.name, ending: .off, at: now)
            }
            registered.add(ended)
            try setDigest(of: rule.name, from: rule.readsEvents ? last : nil)
        }
        for name in present.keys.sorted() {
            try run(SQL.Rules.remove, (":name", name))
            try run(SQL.Timers.removeAll, (":rule", name))
            registered.add(
                EndedWaits(
                    rule: name, waits: try forgetWaits(of: name, ending: .removed, at: now),
                    escalations: try forgetEscalations(of: name, ending: .removed, at: now)))
            try setDigest(of: name, from: nil)
        }
        return registered
    }

    /// Records which rules are new, changed, have changed waits, or are gone, if any, and the last event that the rules have seen so far.
    private func auditReload(
        _ rules: [RuleRegistration], _ present: [String: RuleRow], by person: Person?, at now: Timestamp
    ) throws {
        let names = Set(rules.map(\.name))
        let lists: [(String, [String])] = [
            ("added", rules.map(\.name).filter { present[$0] == nil }),
            ("changed", rules.filter { rule in present[rule.name].map { $0.revision != rule.revision } ?? false }.map(\.name)),
            ("anew", rules.filter { rule in present[rule.name].map { $0.waits != rule.waits } ?? false }.map(\.name)),
            ("removed", present.keys.filter { !names.contains($0) }.sorted()),
        ]
        var facts: JSON.Object = [:]
        for (name, list) in lists where !list.isEmpty { facts[name] = .array(list.map(JSON.string)) }
        guard !facts.isEmpty else { return }
        if !present.isEmpty { facts["routed"] = .int(try int(SQL.Rules.lastRouted)) }
        try audit(.reload, by: person, facts, at: now)
    }

    func formerRules() throws -> [String: [String: JSON]] {
        var former: [String: [String: JSON]] = [:]
        var statement = try prepare(SQL.Rules.former)
        while try statement.next() {
            former[statement.text(0), default: [:]][statement.text(1)] = try statement.json(2, as: .ruleState)
        }
        return former
    }

    private func ruleRows() throws -> [String: RuleRow] {
        let found = try rows(SQL.Rules.all) { row in
            // `set` stores the sources behind the definition of the waits.
            let waits = row.optionalText(4)?.split(separator: " ").map(String.init) ?? []
            let rule = RuleRow(
                since: row.int(1), schedule: row.optionalText(2), due: row.optionalTime(3), waits: waits.first,
                sources: Set(waits.dropFirst()), calendars: row.optionalText(5), isOff: row.int(6) == 1, revision: row.text(7))
            return (row.text(0), rule)
        }
        return Dictionary(uniqueKeysWithValues: found)
    }

    private func set(_ rule: RuleRegistration, _ row: RuleRow?, place: Int, since: Int64) throws {
        var statement = try prepare(row == nil ? SQL.Rules.insert : SQL.Rules.update)
        if row == nil { try statement.bind(":since", since) }
        try statement.bind(":name", rule.name)
        try statement.bind(":revision", rule.revision)
        try statement.bind(":place", place)
        try statement.bind(":schedule", rule.schedule?.text)
        try statement.bind(":waits", rule.waits.map { ([$0] + rule.sources).joined(separator: " ") })
        try statement.bind(":existing", rule.beginsByItself)
        try statement.bind(":off", rule.isOff)
        try statement.bind(":calendars", rule.calendars)
        try statement.bind(":most", rule.maxKeys)
        try statement.run()
    }

    /// Begins the digests of a rule at a place, unless they have begun; nil ends them.
    private func setDigest(of rule: String, from place: Int64?) throws {
        var statement = try prepare(place == nil ? SQL.Rules.forgetDigest : SQL.Rules.beginDigest)
        try statement.bind(":rule", rule)
        if let place { try statement.bind(":value", text: StoredForm.ruleState.stamp(["event": .int(place)]).encoded()) }
        try statement.run()
    }

    /// Sets the timer of the rule's schedule. It continues while the schedule's text is the same; if the clock was set back, it
    /// starts from the current time.
    private func schedule(_ rule: RuleRegistration, _ row: RuleRow?) throws {
        var due = rule.schedule?.next
        if let row, let schedule = rule.schedule, schedule.text == row.schedule { due = row.due.map { min($0, schedule.next) } }
        if due == row?.due { return }
        let id = RuleTimer.ID(rule: rule.name, kind: .schedule)
        try change([due.map { .set(RuleTimer(id, due: $0)) } ?? .cancel(id)])
    }
}

extension RegisteredRules {
    fileprivate mutating func add(_ waits: EndedWaits) { if waits.waits + waits.escalations > 0 { ended.append(waits) } }
}

extension SQL {
    enum Rules {
        static let former = """
            SELECT rule.name, rule_state.key, rule_state.value
            FROM rule CROSS JOIN rule_state ON rule_state.rule = rule.name AND rule_state.kind = 'steps'
            """

        static let forgetDigest = "DELETE FROM rule_state WHERE rule = :rule AND kind = 'digest'"

        /// Begins the digests of a rule with the present end of the bus.
        static let beginDigest = """
            INSERT INTO rule_state (rule, kind, key, element, name_key, value, used, event)
            SELECT :rule, 'digest', '', '', name_key(:rule, 'digest', ''), :value, 0, :value ->> '$.event'
            WHERE NOT EXISTS (SELECT 1 FROM rule_state WHERE rule = :rule AND kind = 'digest')
            """

        /// Each rule with the timer of its schedule.
        static let all = """
            SELECT rule.name, rule.since, rule.schedule, timer.due, rule.waits, rule.calendars, rule.is_off,
                rule.revision
            FROM rule LEFT JOIN timer ON timer.rule = rule.name AND timer.kind = 'schedule' AND timer.key = ''
            """

        static let lastPlace = "SELECT coalesce(max(sequence), 0) FROM event"

        /// The last place on the bus up to which all events are routed.
        static let lastRouted = """
            SELECT coalesce((SELECT min(sequence) - 1 FROM unrouted), (SELECT max(sequence) FROM event), 0)
            """

        static let insert = """
            INSERT INTO rule (
                name, revision, place, since, schedule, waits, begins_by_itself, is_off, calendars, most_keys, keys, once_keys)
            SELECT :name, :revision, :place, :since, :schedule, :waits, :existing, :off, :calendars, :most,
                count(*) FILTER (WHERE kind <> 'once'), count(*) FILTER (WHERE kind = 'once')
            FROM (
                SELECT DISTINCT rule, kind, key FROM rule_state
                WHERE rule IN (:name, 'shadow/' || :name) AND kind NOT IN ('budget', 'begun'))
            """

        /// Turning a rule off removes the error of its last run.
        static let update = """
            UPDATE rule SET
                revision = :revision, place = :place, schedule = :schedule, waits = :waits, begins_by_itself = :existing,
                is_off = :off, calendars = :calendars, most_keys = :most, last_error = iif(:off, NULL, last_error)
            WHERE name = :name
            """

        /// Whether a rule has more keys than it may remember.
        static let overflow = """
            SELECT keys, once_keys, most_keys, escalations FROM rule
            WHERE name = :name AND (keys > most_keys OR once_keys > most_keys OR escalations > most_keys)
            """

        /// The least recently used keys, and whether a piece of each has not expired. Reads all keys of the rule, so callers take many
        /// at once.
        static let oldestKeys = """
            SELECT rule, kind, key, max(expires IS NULL OR expires > :now) FROM rule_state
            WHERE rule IN (:name, 'shadow/' || :name) AND kind NOT IN ('once', 'budget', 'begun', 'digest', 'escalation', 'escalated', 'steps')
            GROUP BY rule, kind, key
            ORDER BY max(used), rule, kind, key
            LIMIT :count
            """

        /// Deletes the record of the task that began a wait or an absence. The wait itself must still be there.
        static let forgetBegun = """
            DELETE FROM rule_state
            WHERE +rule = :rule AND +kind = 'begun' AND element = :key AND name_key IN (
                SELECT name_key(:rule, 'begun', (value ->> '$.source') || '/' || (value ->> '$.task')) FROM rule_state
                WHERE \(State.isOfKey) AND element = '')
            """

        static let dropKey = "DELETE FROM rule_state WHERE \(State.isOfKey)"

        /// The keys of `once` of a rule that is added again stay: pruning has set a time for them if the rule was away.
        static let keepOnce = """
            UPDATE rule_state SET expires = NULL
            WHERE rule IN (:name, 'shadow/' || :name) AND kind = 'once' AND expires IS NOT NULL
            """

        static let countDropped = "UPDATE rule SET dropped = dropped + :count WHERE name = :name"

        static let remove = "DELETE FROM rule WHERE name = :name"

        static let tally = """
            UPDATE rule SET
                runs = runs + :runs, errors = errors + :errors, last_error = iif(:error IS NULL AND :runs = 0, last_error, :error),
                last_run = max(coalesce(last_run, :at), :at)
            WHERE name = :name
            """
    }
}
