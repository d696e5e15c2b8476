import BellhopCore

/// Restarts of the agent in a test.
extension TestRun {
    /// Forgets all but what the store keeps, in the form in which it keeps it, and loads the rules again.
    mutating func reload() {
        var stored: RuleState = [:]
        for (key, value) in state.all { stored[key] = Self.stored(value) }
        state = stored
        for (scope, list) in tasks {
            tasks[scope] = list.compactMap { Snapshot(json: Self.stored($0.json(source: "")) ?? .null) }
        }
        timers = timers.map {
            RuleTimer($0.id, due: $0.due, payload: Self.stored(.object($0.payload))?.asObject ?? [:])
        }
        for rule in book.registrations(at: now) {
            guard let next = rule.schedule?.next else { continue }
            let id = RuleTimer.ID(rule: rule.name, kind: .schedule)
            if let place = timers.firstIndex(where: { $0.id == id }) {
                timers[place].due = min(timers[place].due, next)
            } else {
                timers.append(RuleTimer(id, due: next))
            }
        }
    }

    /// The value as it is read from its text.
    private static func stored(_ value: JSON) -> JSON? { try? JSON.parse(value.encoded()) }
}
