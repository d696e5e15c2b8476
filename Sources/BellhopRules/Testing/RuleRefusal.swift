import BellhopCore
import CEL

/// Why a rule of a test, or a step of it, did nothing for an event, with the data to explain it.
struct RuleRefusal {
    enum Reason {
        /// `on` and `from` do not match.
        case trigger
        /// The list of `each` is empty.
        case noElements
        case condition
        /// The `when` of an event under `on: {all}` and the like.
        case entry(Pattern.Entry)
        /// `throttle`, `once`, or a part that waits, counts or gathers.
        case stopped(DecisionRecord)
        /// The `if` of the step at this place.
        case step(Int)
    }

    var rule: Rule
    /// Nil for a timer that came due.
    var event: StoredEvent?
    /// The events that the rule received, if its schedule was due and it reads them.
    var digest: Digest?
    /// The element of its list for which the rule did nothing.
    var element: TaskObject?
    /// The line of the test that gives the event; nil for any other event.
    var line: Int?
    var reason: Reason
    var now: Timestamp
    var tasks: [Scope.ID: [Snapshot]]

    var isOfTrigger: Bool { if case .trigger = reason { true } else { false } }

    func prevented(_ kind: String) -> Bool {
        if case .step(let number) = reason { return rule.steps[number].action.kind == kind }
        return rule.allSteps.contains { $0.action.kind == kind }
    }

    /// The reason, and below it the value of each part of a condition.
    func lines(in book: RuleBook) -> [String] {
        let name = event.map { "`\($0.event.type.name)`" } ?? "a due timer"
        let time = line.map { " (line \($0))" } ?? " at \(now.formatted(in: rule.zone))"
        let what = name + time + (elementName.map { " and task `\($0)`" } ?? "")
        switch reason {
        case .trigger:
            let types = rule.summary.types
            let isMeant = event?.event.type == .taskCreated && types.contains(.taskReturned) && !types.contains(.taskCreated)
            let hint = isMeant ? "; a removed task comes back as `task_returned`" : ""
            return ["rule `\(rule.name)`: \(triggerWords) \(what)\(hint)"]
        case .stopped(let record):
            let words = record.words(of: rule, namesEvents: false)
            let stops = [.once, .throttled].contains(record.verdict)
            let why = stops ? "\(words.part) stopped \(what): \(words.clause)" : "\(what): \(words.clause)"
            return ["rule `\(rule.name)`: \(why)"] + record.values.map { "  " + $0 }
        case .noElements: return explain(rule.time.each, "`each`", "is empty", what, in: book)
        case .condition: return explain(rule.condition, "`when`", "is false", what, in: book)
        case .entry(let entry):
            return explain(entry.condition, "`when` of an event under `on`", "is false", what, in: book)
        case .step(let number):
            let step = rule.steps[number]
            let part = "`if` of step \(step.name ?? step.path.text) (`\(step.action.kind)`)"
            return explain(step.condition, part, "is false", what, in: book)
        }
    }

    /// The number or the id of the list element that it is about.
    private var elementName: String? {
        if let element { return element.snapshot.number.nonEmpty ?? element.snapshot.key.text }
        guard case .stopped(let record) = reason, case .element(_, let key)? = Occasion(record.occasion) else { return nil }
        return key.dividedAtSlashes(into: 2)?[1]
    }

    private var triggerWords: String {
        if rule.isOff { return "it is turned off (`enabled: false`) and ignores" }
        let event = event?.event
        let isFromElsewhere: Bool
        if let pattern = rule.time.pattern {
            isFromElsewhere = event.map(pattern.acceptsElsewhere) ?? false
            if !isFromElsewhere { return "`on` does not fit" }
        } else {
            guard let event, rule.triggers.contains(where: { $0.type == event.type }) else { return "`on` does not name" }
            isFromElsewhere = !rule.sources.isEmpty && !rule.sources.contains(event.source) && event.type != .scheduleDue
        }
        if let event, isFromElsewhere { return "`from` does not name `\(event.source)`, the source of" }
        return "`on` does not match the changes of"
    }

    private func explain(
        _ condition: RuleExpression?, _ part: String, _ verdict: String, _ what: String, in book: RuleBook
    ) -> [String] {
        let frame = RunFrame(book.facts, events: event.map { [$0] } ?? [], now: now, snapshots: tasks)
        if let digest { frame.give(digest) }
        if let event, let element { frame.move(to: element, of: event) }
        if let event, let pattern = rule.time.pattern, pattern.endsWithTask {
            let activation = Activation(book.slots)
            activation.begin(frame)
            pattern.moveToBegin(frame, event, activation)
        }
        guard let (result, parts) = condition?.explained(frame, book.slots, zone: rule.zone) else {
            return ["rule `\(rule.name)`: \(part) does not hold for \(what)"]
        }
        var verdict = verdict
        if case .failure(let error) = result { verdict = "is unknown (\(error.message))" }
        return ["rule `\(rule.name)`: \(part) \(verdict) for \(what)"] + parts.lines.map { "  " + $0 }
    }
}
