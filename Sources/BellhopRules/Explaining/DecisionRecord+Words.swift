import BellhopCore

extension DecisionRecord {
    /// The part of the rule that stopped it, and a clause that explains why.
    /// - Parameter namesEvents: whether to name an earlier event by its id, by which it can be explained itself.
    func words(of rule: Rule, namesEvents: Bool) -> (part: String, clause: String) {
        func moment(_ name: String) -> String {
            let time = detail[name]?.asString.flatMap { BellhopCore.Timestamp(rfc3339: $0) }
            return time?.formatted(in: rule.zone) ?? ""
        }
        let earlier = namesEvents ? earlierEvent : ""
        let isOfPattern = detail["come"] != nil
        let waiting = rule.time.pattern.flatMap { rule.time.hold == nil || isOfPattern ? $0.kind.rawValue : nil } ?? "for"
        switch verdict {
        case .conditionFailed, .keyFailed, .stepFailed, .loop: return ("", error ?? "it failed")
        case .throttled:
            let every = rule.throttle.map { DurationText.format($0.every) } ?? "its time"
            return ("`throttle`", "it ran at \(moment("last"))\(earlier), less than \(every) ago")
        case .once:
            let when = detail["last"] == nil ? "before" : "at \(moment("last"))\(earlier)"
            return ("`once`", "it ran for the key \"\(detail["key"]?.asString ?? "")\" \(when)")
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
        case .quiet:
            let what = "a message of step \(detail["step"]?.asString ?? "")"
            return detail["dropped"] == true
                ? ("`quiet`", "a quiet time dropped \(what)")
                : ("`quiet`", "a quiet time keeps \(what) back until \(moment("until"))")
        }
    }

    /// The event for which the rule ran before, as a phrase; empty if that run was for a timer, or is not known.
    private var earlierEvent: String {
        let event = detail["by"]?.asString.flatMap { Occasion.ID($0).event }
        return event.map { " for event \($0.text.prefix(12))" } ?? ""
    }
}
