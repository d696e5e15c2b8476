import BellhopCore

extension DecisionRecord {
    /// What stopped the rule: the part of the rule, and a clause that explains it.
    func words(of rule: Rule) -> (part: String, clause: String) {
        func moment(_ name: String) -> String {
            let time = detail[name]?.asString.flatMap { BellhopCore.Timestamp(rfc3339: $0) }
            return time?.formatted(in: rule.zone) ?? ""
        }
        let isOfPattern = detail["come"] != nil
        let waiting = rule.time.pattern.flatMap { rule.time.hold == nil || isOfPattern ? $0.kind.rawValue : nil } ?? "for"
        switch verdict {
        case .conditionFailed, .keyFailed, .stepFailed, .loop: return ("", error ?? "it failed")
        case .throttled:
            let every = rule.throttle.map { DurationText.format($0.every) } ?? "its time"
            return ("`throttle`", "it ran at \(moment("last")), less than \(every) ago")
        case .once: return ("`once`", "it ran for the key \"\(detail["key"]?.asString ?? "")\" before")
        case .waiting:
            guard let come = detail["come"]?.asInt, let all = detail["of"]?.asInt else {
                return (waiting, "`\(waiting)` waits until \(moment("until"))")
            }
            return (waiting, "`\(waiting)` has \(come) of \(all) events and waits for the others until \(moment("until"))")
        case .conditionFalse: return ("`when`", "`when` does not hold")
        case .cancelled:
            return rule.time.hold == nil
                ? ("`none`", "it ended the wait of `none`")
                : ("`for`", "it ended the wait of `for`: `when` does not hold any more")
        case .notTrueWhenDue: return ("`when`", "`when` did not hold when the time of `\(waiting)` was over")
        case .counting:
            return ("`count`", "`count` has \(detail["counted"]?.asInt ?? 0) of \(detail["of"]?.asInt ?? 0)")
        case .gathering:
            return ("`group`", "`group` has gathered \(detail["gathered"]?.asInt ?? 0) and waits for more")
        case .escalating: return ("`escalate`", "the escalation goes on until \(moment("until"))")
        case .answered: return ("`escalate`", "it answered the task, which ended the escalation")
        case .ended: return ("`escalate`", "the escalation has ended: \(detail["reason"]?.asString ?? "")")
        case .budget:
            return ("`limit`", "the budget of writes to a task stopped step \(detail["step"]?.asString ?? "")")
        case .quiet: return ("`quiet`", "a quiet time keeps back a message of step \(detail["step"]?.asString ?? "")")
        }
    }
}
