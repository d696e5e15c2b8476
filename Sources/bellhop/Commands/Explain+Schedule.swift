import BellhopAgent
import BellhopCore
import BellhopRules

/// The planned times of a rule with a schedule. Each is an event about the rule, so that they are explained as the events of a task are.
extension Explain {
    /// Says when the rule whose planned times were explained is due next.
    func showNextTime(after facts: ExplanationFacts, _ link: StoreLink) async throws(CommandError) {
        let isOfSchedule = facts.events.contains { $0.event.type == .scheduleDue && $0.event.source == subject }
        guard isOfSchedule, !output.json, let (next, _) = try await nextTime(link) else { return }
        Console.data("")
        Console.data(next)
    }

    /// Explains a rule of which no planned time is stored: most often, because none has come yet.
    /// - Returns: false if the agent has no rule of this name.
    func explainRuleWithoutTimes(_ link: StoreLink, hasRules: Bool) async throws(CommandError) -> Bool {
        guard let (next, status) = try await nextTime(link) else { return false }
        if let other = rule, other != subject {
            throw CommandError(
                .usage,
                "`\(subject.visible)` is a rule itself, and no event of it is stored: --rule \(other.visible) needs a task or an event."
            )
        }
        guard !asTest, status["next"]?.asMoment != nil || status["off"] == true else {
            throw CommandError(.problem, "\(next) No event or planned time of it is stored. \(try await kept(link))")
        }
        if output.json {
            printNothing(["next": status["next"] ?? .null, "last_run": status["last_run"] ?? .null], hasRules: hasRules)
        } else if let last = status["last_run"]?.asMoment {
            let ran = "It ran last at \(link.zone.dateAndClock(last)), and no planned time of it is stored any more."
            Console.data("\(next) \(ran) \(try await kept(link))")
        } else {
            Console.data("\(next) It has not run yet.")
        }
        return true
    }

    /// When the rule that the subject names is due next, or why it is not, with the rule's status; nil if the agent has no such rule.
    private func nextTime(_ link: StoreLink) async throws(CommandError) -> (sentence: String, rule: JSON)? {
        let status = try await link.answer(.status)
        func isOfSubject(_ json: JSON) -> Bool { json["rule"]?.asString == subject }
        guard let rule = status["rules"].elements.first(where: isOfSubject) else { return nil }
        let name = "Rule \(subject.visible)"
        if rule["off"] == true { return ("\(name) is turned off (`enabled: false`).", rule) }
        let pause = status["paused"].elements.first(where: isOfSubject)
        let paused = pause.map { " It has been paused since \($0["since"].words(in: link.zone)): its times wait." } ?? ""
        guard let next = rule["next"]?.asMoment else {
            let advice = "`bellhop explain EVENT`, or `bellhop explain TASK --rule \(subject.visible)`, says what it did."
            return ("\(name) has no schedule: \(advice)\(paused)", rule)
        }
        let isAhead = next > SystemClock().now
        let coming = isAhead ? "" : ", and comes \(RuleTimer.coming(isPaused: pause != nil, isAfterPoll: false))"
        let due = "\(isAhead ? "is due next" : "was due") at \(link.zone.dateAndClock(next))\(coming)"
        return ("\(name) \(due).\(paused)", rule)
    }
}
