import BellhopCore

/// Restarts of the agent.
extension Trial {
    /// Restarts the agent: reads the stored facts again, in their stored form, and loads the rules again.
    mutating func reload() {
        state.reread(Self.stored)
        for (scope, list) in tasks {
            set(list.compactMap { Snapshot(json: Self.stored($0.json(source: "")) ?? .null) }, of: scope)
        }
        for timer in timers.all {
            timers.replace(RuleTimer(timer.id, due: timer.due, payload: Self.stored(.object(timer.payload))?.asObject ?? [:]))
        }
        for rule in book.registrations(at: now) {
            guard let next = rule.schedule?.next else { continue }
            let id = RuleTimer.ID(rule: rule.name, kind: .schedule)
            if var timer = timers[id] {
                timer.due = min(timer.due, next)
                timers.replace(timer)
            } else {
                set(RuleTimer(id, due: next))
            }
        }
    }

    /// The value as it is read from its text.
    private static func stored(_ value: JSON) -> JSON? { try? JSON.parse(value.encoded()) }
}
