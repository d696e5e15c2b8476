import BellhopCore

extension Session {
    private struct RuleRow {
        var since: Int64
        var schedule: String?
        var due: Timestamp?
        var waits: String?
        var calendars: String?
        var isOff: Bool
        var revision: String
    }

    func register(_ rules: [RuleRegistration], by person: Person?, at now: Timestamp) throws -> [String: Int64] {
        var present = try ruleRows()
        try auditReload(rules, present, by: person, at: now)
        let last = try int(SQL.Rules.lastPlace)
        var since: [String: Int64] = [:]
        for (place, rule) in rules.enumerated() where since[rule.name] == nil {
            let row = present.removeValue(forKey: rule.name)
            since[rule.name] = row?.since ?? last
            try set(rule, row, place: place, since: last)
            try schedule(rule, row)
            if row == nil || row?.waits != rule.waits {
                try beginWaits(rule, ending: rule.isOff ? .off : .changed, at: now)
            } else if row?.calendars != rule.calendars {
                try recompute(rule.name, at: now)
            }
            if rule.isOff, row?.isOff == false { try forgetEscalations(of: rule.name, ending: .off, at: now) }
            try setDigest(of: rule.name, from: rule.readsEvents ? last : nil)
        }
        for name in present.keys {
            try run(SQL.Rules.remove) { try $0.bind(":name", name) }
            try run(SQL.Timers.removeAll) { try $0.bind(":rule", name) }
            try forgetWaits(of: name, ending: .removed, at: now)
            try forgetEscalations(of: name, ending: .removed, at: now)
            try setDigest(of: name, from: nil)
        }
        return since
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
        while try statement.next() { former[statement.text(0), default: [:]][statement.text(1)] = try statement.json(2) }
        return former
    }

    private func ruleRows() throws -> [String: RuleRow] {
        var rows: [String: RuleRow] = [:]
        var statement = try prepare(SQL.Rules.all)
        while try statement.next() {
            rows[statement.text(0)] = RuleRow(
                since: statement.int(1), schedule: statement.optionalText(2), due: statement.optionalTime(3),
                waits: statement.optionalText(4), calendars: statement.optionalText(5), isOff: statement.int(6) == 1,
                revision: statement.text(7))
        }
        return rows
    }

    private func set(_ rule: RuleRegistration, _ row: RuleRow?, place: Int, since: Int64) throws {
        var statement = try prepare(row == nil ? SQL.Rules.insert : SQL.Rules.update)
        if row == nil { try statement.bind(":since", since) }
        try statement.bind(":name", rule.name)
        try statement.bind(":revision", rule.revision)
        try statement.bind(":place", place)
        try statement.bind(":schedule", rule.schedule?.text)
        try statement.bind(":waits", rule.waits)
        try statement.bind(":existing", rule.beginsByItself)
        try statement.bind(":off", rule.isOff)
        try statement.bind(":calendars", rule.calendars)
        try statement.bind(":most", rule.mostKeys)
        try statement.run()
    }

    /// Ends the rule's waits, counts and groups, because the rule is new or their definitions have changed.
    private func beginWaits(_ rule: RuleRegistration, ending: DecisionRecord.Ending, at now: Timestamp) throws {
        try run(SQL.Timers.removeWaits) { try $0.bind(":rule", rule.name) }
        try forgetWaits(of: rule.name, ending: ending, at: now)
        if rule.beginsByItself { try change([.set(RuleTimer(.init(rule: rule.name, kind: .existing), due: now))]) }
    }

    /// Computes the due times of a rule's waits again, because its calendars have changed.
    private func recompute(_ rule: String, at now: Timestamp) throws {
        var timers = try prepare(SQL.Rules.recompute[0])
        try timers.bind(":rule", rule)
        try timers.bind(":now", now)
        try timers.run()
        try run(SQL.Rules.recompute[1]) { try $0.bind(":rule", rule) }
    }

    private func forgetWaits(of rule: String, ending: DecisionRecord.Ending, at now: Timestamp) throws {
        var waiting = try prepare(SQL.Rules.waiting)
        try waiting.bind(":rule", rule)
        try record(ending, of: &waiting, at: now)
        try run(SQL.Rules.forgetWaits) { try $0.bind(":rule", rule) }
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

    private func forgetEscalations(of rule: String, ending: DecisionRecord.Ending, at now: Timestamp) throws {
        var escalating = try prepare(SQL.Rules.escalating)
        try escalating.bind(":rule", rule)
        try record(ending, of: &escalating, at: now)
        for sql in SQL.Rules.forgetEscalations { try run(sql) { try $0.bind(":rule", rule) } }
    }

    /// Begins the digests of a rule at a place, unless they have begun; nil ends them.
    private func setDigest(of rule: String, from place: Int64?) throws {
        var statement = try prepare(place == nil ? SQL.Rules.forgetDigest : SQL.Rules.beginDigest)
        try statement.bind(":rule", rule)
        if let place { try statement.bind(":value", text: JSON.object(["event": .int(place)]).encoded()) }
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
