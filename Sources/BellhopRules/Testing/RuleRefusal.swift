import BellhopCore
import CEL
import YAML

/// Why a rule of a test, or a step of it, did nothing for an event, with the data to explain it.
struct RuleRefusal {
    enum Reason {
        /// `on` and `from` do not match.
        case trigger
        case condition
        /// `throttle`, `once`, or a part that waits, counts or gathers.
        case stopped(DecisionRecord)
        /// The `if` of the step at this place.
        case step(Int)
    }

    var rule: Rule
    /// Nil for a timer that came due.
    var event: StoredEvent?
    /// The line of the test that gives the event; nil for any other event.
    var line: Int?
    var reason: Reason
    var now: BellhopCore.Timestamp
    var tasks: [Scope.ID: [Snapshot]]

    var isOfTrigger: Bool { if case .trigger = reason { true } else { false } }

    /// Whether it prevented an action of this kind.
    func keptBack(_ kind: String) -> Bool {
        if case .step(let number) = reason { return rule.steps[number].action.kind == kind }
        return rule.allSteps.contains { $0.action.kind == kind }
    }

    /// What prevented it, and below it the value of each part of a condition.
    func lines(in book: RuleBook) -> [String] {
        let name = event.map { "`\($0.event.type.name)`" } ?? "what came due"
        let what = name + (line.map { " (line \($0))" } ?? " at \(now.formatted(in: rule.zone))")
        switch reason {
        case .trigger: return ["rule `\(rule.name)`: \(triggerWords) \(what)"]
        case .stopped(let record):
            if let words = waitingWords(record) { return ["rule `\(rule.name)`: \(what): \(words)"] }
            guard let last = record.detail["last"]?.asString.flatMap({ BellhopCore.Timestamp(rfc3339: $0) }) else {
                let key = record.detail["key"]?.asString ?? ""
                return ["rule `\(rule.name)`: `once` stopped \(what): it ran for the key \"\(key)\" before"]
            }
            let every = rule.throttle.map { DurationText.format($0.every) } ?? ""
            let ran = "it ran at \(last.formatted(in: rule.zone)), less than \(every) ago"
            return ["rule `\(rule.name)`: `throttle` stopped \(what): \(ran)"]
        case .condition: return explain(rule.condition, "`when`", what, in: book)
        case .step(let number):
            let step = rule.steps[number]
            return explain(step.condition, "`if` of step \(step.name ?? step.path.text) (`\(step.action.kind)`)", what, in: book)
        }
    }

    /// What a part that waits, counts or gathers did with the event; nil for others.
    private func waitingWords(_ record: DecisionRecord) -> String? {
        let detail = record.detail
        switch record.verdict {
        case .waiting:
            let moment = detail["until"]?.asString.flatMap { BellhopCore.Timestamp(rfc3339: $0) }
            let until = moment?.formatted(in: rule.zone) ?? ""
            guard let come = detail["come"]?.asInt, let all = detail["of"]?.asInt else {
                return "`\(waiting)` waits until \(until)"
            }
            return "`\(waiting)` has \(come) of \(all) events and waits for the others until \(until)"
        case .conditionFalse: return "`when` does not hold"
        case .cancelled:
            return rule.time.hold == nil
                ? "it ended the wait of `none`" : "it ended the wait of `for`: `when` does not hold any more"
        case .notTrueWhenDue: return "`when` did not hold when the time of `\(waiting)` was over"
        case .counting: return "`count` has \(detail["counted"]?.asInt ?? 0) of \(detail["of"]?.asInt ?? 0)"
        case .answered: return "it answered the task, which ended the escalation"
        case .ended: return "the escalation has ended: \(detail["reason"]?.asString ?? "")"
        case .gathering: return "`group` has gathered \(detail["gathered"]?.asInt ?? 0) and waits for more"
        default: return nil
        }
    }

    /// The part that waits.
    private var waiting: String {
        if let pattern = rule.time.pattern, rule.time.hold == nil || reasonIsOfPattern { return pattern.kind.rawValue }
        return "for"
    }

    private var reasonIsOfPattern: Bool { if case .stopped(let record) = reason { record.detail["come"] != nil } else { false } }

    private var triggerWords: String {
        if rule.isOff { return "it is turned off (`enabled: false`) and ignores" }
        if rule.time.pattern != nil { return "`on` does not fit" }
        guard let event = event?.event, rule.triggers.contains(where: { $0.type == event.type }) else {
            return "`on` does not name"
        }
        if !rule.sources.isEmpty, !rule.sources.contains(event.source), event.type != .scheduleDue {
            return "`from` does not name `\(event.source)`, the source of"
        }
        return event.type == .scheduleDue
            ? "the schedule is another rule's:" : "`on` does not match the changes of"
    }

    private func explain(_ condition: RuleExpression?, _ part: String, _ what: String, in book: RuleBook) -> [String] {
        guard let source = condition?.source else {
            return ["rule `\(rule.name)`: \(part) does not hold for \(what)"]
        }
        let frame = RunFrame(book.facts, events: event.map { [$0] } ?? [], now: now, snapshots: tasks)
        let activation = Activation(book.slots)
        activation.begin(frame)
        let (result, observations) = source.explain(activation, wholePaths: true)
        let verdict: String
        if case .failure(let error) = result { verdict = "is unknown (\(error.message))" } else { verdict = "is false" }
        let parts = Evaluation.parts(of: observations, in: SourceText(source.text), zone: rule.zone)
        let texts = parts.map { String(repeating: "  ", count: $0.depth + 1) + $0.text.singleLine }
        let width = min(60, texts.map(\.unicodeScalars.count).max() ?? 0)
        return ["rule `\(rule.name)`: \(part) \(verdict) for \(what)"]
            + zip(texts, parts).map { text, part in
                text + String(repeating: " ", count: max(0, width - text.unicodeScalars.count)) + "  " + part.brief
            }
    }
}

extension Evaluation.Part {
    /// Its result on one line.
    fileprivate var brief: String {
        switch outcome {
        case .value(let result): result.brief
        case .failure(_, let message): "error: " + message.singleLine
        case .notEvaluated: "not evaluated"
        }
    }
}
