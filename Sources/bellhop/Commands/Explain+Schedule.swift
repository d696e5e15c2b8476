import BellhopAgent
import BellhopCore
import BellhopRules

/// The planned times of a rule with a schedule. Each is an event about the rule, so that they are explained as the events of a task are.
extension Explain {
    /// Says when the rule whose planned times were explained is due next.
    func showNextTime(after facts: ExplanationFacts, _ link: StoreLink) async throws(CommandError) {
        let isOfSchedule = facts.events.contains { $0.event.type == .scheduleDue && $0.event.source == subject }
        guard isOfSchedule, !output.json, let next = try await nextTime(link) else { return }
        Console.data("")
        Console.data(next)
    }

    /// When the rule that the subject names is due next, or why it is not; nil if the agent has no such rule.
    func nextTime(_ link: StoreLink) async throws(CommandError) -> String? {
        let status = try await link.answer(.status)
        func isOfSubject(_ json: JSON) -> Bool { json["rule"]?.asString == subject }
        guard let rule = status["rules"].elements.first(where: isOfSubject) else { return nil }
        let name = "Rule \(subject.visible)"
        if rule["off"] == true { return "\(name) is turned off (`enabled: false`)." }
        let pause = status["paused"].elements.first(where: isOfSubject)
        let paused = pause.map { " It has been paused since \($0["since"].words(in: link.zone)): its times wait." } ?? ""
        guard let next = rule["next"]?.asMoment else {
            return
                "\(name) has no schedule: `bellhop explain EVENT`, or `bellhop explain TASK --rule \(subject.visible)`, says what it did."
                + paused
        }
        let isAhead = next > SystemClock().now
        return "\(name) \(isAhead ? "is due next" : "was due") at \(link.zone.dateAndClock(next))"
            + (isAhead ? "." : ", and comes \(RuleTimer.coming(isPaused: pause != nil, isAfterPoll: false)).") + paused
    }
}
