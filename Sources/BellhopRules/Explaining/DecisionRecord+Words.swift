public import BellhopCore

extension RuleBook {
    /// Why a rule did not run, or what became of its run, as a clause.
    public func clause(_ record: DecisionRecord) -> String { record.clause(of: rule(named: record.rule)) }
}

extension DecisionRecord {
    /// Why the rule did not run, or what became of its run, as a clause. It names an earlier event by its id.
    /// - Parameter rule: nil if the rule is gone.
    /// - Parameter due: the present due time of its timer; nil for the time in the record.
    func clause(of rule: Rule?, due: Timestamp? = nil) -> String {
        let words = words(of: rule, namesEvents: true, due: due)
        return [.once, .throttled].contains(verdict) && !words.part.isEmpty
            ? "\(words.part) stopped it: \(words.clause)" : words.clause
    }

    /// The part of the rule that stopped it, and a clause that explains why.
    /// - Parameters:
    ///   - namesEvents: whether to name an earlier event by its id, so that readers can ask about it.
    ///   - rule: nil if the rule is gone.
    func words(of rule: Rule?, namesEvents: Bool, due: Timestamp? = nil) -> (part: String, clause: String) {
        let zone = rule?.zone ?? .utc
        func moment(_ name: String) -> String { detail[name]?.asMoment?.formatted(in: zone) ?? "" }
        let other = namesEvents ? otherEvent : ""
        let earlier = other.isEmpty ? "" : " for \(other)"
        let end = due?.formatted(in: zone) ?? moment("until")
        let until = end.isEmpty ? "" : " until \(end)"
        let waiting = part ?? rule?.time.pattern.flatMap { rule?.time.hold == nil ? $0.kind.rawValue : nil } ?? "for"
        switch verdict {
        case .conditionFailed, .keyFailed, .stepFailed, .loop: return ("", error ?? "it failed")
        case .throttled:
            // The rule may have been changed since.
            var distance = "within the time that `throttle` had then"
            if let last = detail["last"]?.asMoment, let every = rule?.throttle?.every, at - last < every {
                distance = "less than \(DurationText.format(every)) before"
            }
            return ("`throttle`", "it ran at \(moment("last"))\(earlier), \(distance)")
        case .once:
            let when = detail["last"] == nil ? "before" : "at \(moment("last"))\(earlier)"
            return ("`once`", "it ran for the key \"\(detail["key"]?.asString ?? "")\" \(when)")
        case .waiting:
            if isUnderWay { return (waiting, "\(begun), and \(until.isEmpty ? "the rule has run" : "waits\(until)")") }
            guard let come = detail["come"]?.asInt, let all = detail["of"]?.asInt else {
                return (waiting, "`\(waiting)` waits\(until)")
            }
            return (waiting, "`\(waiting)` has \(come) of \(all) events and waits for the others until \(moment("until"))")
        case .conditionFalse: return ("`when`", "`when` does not hold")
        case .cancelled:
            if waiting == "none" { return ("`none`", "it ended the wait of `none`") }
            return ("`for`", "it ended the wait of `for`: \(reasonOfCancelling(by: rule))")
        case .usedUp: return ("`\(waiting)`", taken(at: at.formatted(in: zone), other))
        case .endedEarly:
            let time = at.formatted(in: zone)
            guard let ending else {
                return ("`\(waiting)`", "the wait of `\(waiting)` was ended at \(time)\(other.isEmpty ? "" : " by \(other)")")
            }
            let what = part.map { "`\($0)`" } ?? "the wait for other events"
            return ("`\(waiting)`", "\(ending.words) at \(time), which ended \(what)")
        case .notTrueWhenDue: return ("`when`", "`when` did not hold when the time of `\(waiting)` was over")
        case .counting: return ("`count`", "`count` has \(detail["counted"]?.asInt ?? 0) of \(detail["of"]?.asInt ?? 0)")
        case .gathering: return ("`group`", "`group` has gathered \(detail["gathered"]?.asInt ?? 0) and waits for more\(until)")
        case .noStep:
            let what =
                isOfEscalation
                ? "a step of the escalation had nothing to do at \(at.formatted(in: zone))" : "no step had anything to do"
            return ("`if`", leftOut.isEmpty ? what : "\(what): \(leftOut.joined(separator: "; "))")
        case .escalating: return ("`escalate`", "the next step of \(escalation) waits\(until)")
        case .answered: return ("`escalate`", "it answered the task, which ended the escalation")
        case .ended: return ("`escalate`", "the escalation has ended: \(reasonOfEnd(in: zone))")
        case .budget: return ("`limit`", "the budget of writes to a task stopped step \(detail["step"]?.asString ?? "")")
        case .quiet:
            let what = "a message of step \(detail["step"]?.asString ?? "")"
            return detail["dropped"] == true
                ? ("`quiet`", "a quiet time dropped \(what)")
                : ("`quiet`", "a quiet time keeps \(what) back until \(moment("until"))")
        }
    }

    /// A clause which says that a wait had begun before.
    var begun: String { "`\(part ?? "for")` had begun before\(otherEvent.isEmpty ? "" : ", with \(otherEvent)")" }

    /// Why the escalation that the record is about has ended, as a clause.
    func reasonOfEnd(in zone: TimeZoneTable) -> String {
        let time = at.formatted(in: zone)
        if verdict == .answered {
            return "\(occasion.event.map { "event \($0.text.prefix(12))" } ?? "a person") answered the task at \(time)"
        }
        return ending.map { "\($0.words) at \(time)" } ?? detail["reason"]?.asString ?? ""
    }

    /// Why an event ended a wait of `for`, as a clause.
    private func reasonOfCancelling(by rule: Rule?) -> String {
        if detail["left"] == true { return "the task has left" }
        let isListed = rule?.time.each != nil
        if isListed, rule?.condition == nil { return "the task is no longer in the list of `each`" }
        return (isListed ? "the task is no longer in the list of `each`, or " : "") + "`when` does not hold any more"
    }

    /// Its escalation, as a phrase.
    var escalation: String { otherEvent.isEmpty ? "the escalation" : "the escalation of \(otherEvent)" }

    private var ending: Ending? { detail["ending"]?.asString.flatMap(Ending.init) }

    /// Why steps were left out, as clauses.
    var leftOut: [String] { (detail["left_out"]?.asArray ?? []).compactMap(\.asString) }

    /// The values of the parts of a false condition, a line each; empty unless the rules were loaded to explain.
    var values: [String] { (detail["values"]?.asArray ?? []).compactMap(\.asString) }

    /// Whether it is about a step of an escalation, and not about the run that began it.
    var isOfEscalation: Bool { occasion.run != occasion }

    /// A clause which says how a later run used the event up.
    private func taken(at time: String, _ event: String) -> String {
        switch part {
        case "count": "`count` had enough at \(time)\(event.isEmpty ? "" : " with \(event)"), and used this event up"
        case "group": "`group` passed it on at \(time)\(event.isEmpty ? "" : " together with \(event)")"
        default: "`\(part ?? "on")` was complete at \(time)\(event.isEmpty ? "" : " with \(event)"), and used this event up"
        }
    }

    /// The other event that the record refers to, as a phrase; empty if unknown.
    private var otherEvent: String {
        let id = detail["by"]?.asString.flatMap { Occasion.ID($0).event }?.text ?? detail["event"]?.asString
        return id.map { "event \($0.prefix(12))" } ?? ""
    }
}

extension DecisionRecord.Ending {
    fileprivate var words: String {
        switch self {
        case .changed: "the rule was changed"
        case .removed: "the rule was removed"
        case .off: "the rule was turned off"
        case .forgotten: "`bellhop forget` forgot the task"
        }
    }
}

extension RuleTimer {
    /// When an overdue timer will fire, as a phrase.
    /// - Parameter isAfterPoll: whether the rule is judged only after its source was polled.
    public static func coming(isPaused: Bool, isAfterPoll: Bool) -> String {
        isPaused ? "once the rule is resumed" : isAfterPoll ? "with the agent's next poll" : "once an agent runs"
    }
}

extension [DecisionRecord] {
    /// The record that best explains the result of a run: an event may end a wait and then begin another, and several elements of a list
    /// may wait. A wait that a later record explains does not count.
    var stop: DecisionRecord? {
        let ended = Set(filter(\.verdict.isOfEarlier).map(\.occasion))
        let due = Set(compactMap(\.occasion.wait))
        let hasNoStep = contains { $0.verdict == .noStep }
        let ofRun = filter { record in
            let isDue = record.verdict == .waiting && record.detail["key"]?.asString.map(due.contains) ?? false
            // The run has used up what was gathered.
            let isOver = isDue || ended.contains(record.occasion) || record.verdict == .gathering && hasNoStep
            return record.isOfRun && !(record.verdict.isWaiting && isOver)
        }
        return ofRun.last { ![.cancelled, .conditionFalse, .noStep].contains($0.verdict) && !$0.verdict.isOfEarlier }
            ?? ofRun.last { $0.verdict == .noStep } ?? ofRun.last(where: \.verdict.isOfEarlier)
            ?? ofRun.last { $0.verdict == .cancelled } ?? ofRun.last
    }
}

extension DecisionRecord {
    /// Whether it stopped the run, and not only a step of it or of its escalation.
    var isOfRun: Bool { verdict.isOfRun && !isOfEscalation }

    /// Until when the event can be counted, or be completed by others.
    var timeLimit: Timestamp? { verdict.isWaiting && detail["of"] != nil ? detail["until"]?.asMoment : nil }
}
