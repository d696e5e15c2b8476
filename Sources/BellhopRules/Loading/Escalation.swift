import BellhopCore

/// The steps that follow a run of a rule until something ends the escalation: `escalate` and `until`.
struct Escalation: Sendable {
    /// In the order of the list.
    var steps: [Step]
    var until: Until
    /// The hash of everything that affects it. Escalations under way keep the steps that they began with.
    var version: String
    /// The text of the parts of the rule that the escalation needs. It can be read again.
    var text: String
    /// The facts that the steps and `until` read and that are known only at routing.
    var needs: RuleExpression.Needs

    /// An element of the list.
    struct Step: Sendable {
        /// The time from the run to the step.
        var after: Span
        var repetition: Repetition?
        var actions: [BellhopRules.Step]
    }

    /// `repeat`: how often the step is repeated, and at which interval.
    struct Repetition: Sendable {
        var every: Span
        var times: Int

        /// The time from the step to its last repetition.
        var all: Span {
            var all = every
            all.time = every.time * times
            return all
        }
    }

    /// What ends it, apart from the task's departure.
    enum Until: Sendable {
        /// An answer, or a condition of the rule that no longer holds.
        case standard
        /// An answer alone.
        case answered
        /// - Parameter readsAnswer: whether it uses `answered`, so that it is judged at each answer, too.
        case expression(RuleExpression, readsAnswer: Bool)
    }

    init(steps: [Step], until: Until, version: String, text: String, condition: RuleExpression?) {
        (self.steps, self.until, self.version, self.text) = (steps, until, version, text)
        needs = steps.flatMap(\.actions).reduce(into: []) { $0.formUnion($1.needs) }
        switch until {
        case .standard: needs.formUnion(condition?.needs ?? [])
        case .answered: break
        case .expression(let expression, _): needs.formUnion(expression.needs)
        }
    }

    /// The key under which the rule is stored as it was when its escalations began.
    func key(of rule: Rule) -> StateKey { StateKey(rule: rule.name, kind: .steps, key: version) }

    /// When the last step of a run at this moment comes.
    func end(from start: Timestamp) -> Timestamp {
        steps.compactMap { step -> Timestamp? in
            // A step whose calendar does not open for so long never comes.
            guard let first = step.after.end(from: start) else { return nil }
            guard let repetition = step.repetition else { return first }
            return repetition.all.end(from: first) ?? first + .days(WorkCalendar.reach)
        }.max() ?? start
    }
}
