import BellhopCore

/// Compares what a test expected with what happened.
struct TestComparison {
    /// An action as it happened: the deliveries of one step in one run.
    struct ActualAction {
        var rule: String
        var kind: String
        var receivers: [String]
        var task: TaskReference?
        var arguments: Arguments
        var failure: Failure?
        var isSilenced = false
        /// Whether a quiet time keeps it back.
        var isQuiet = false
        /// When the quiet time ends; nil if it drops the message.
        var until: Timestamp?
        /// Whether it was not sent when it was made.
        var isKeptBack: Bool { isSilenced || isQuiet }
        /// Whether it closes the alert of an escalation, at a receiver that may not be a pager.
        var isImplied = false
        var at: Timestamp
    }

    static func problems(_ test: TestCase, _ run: TestRun) -> [Diagnostic] {
        func compare(_ expected: TestCase.Expectation, _ happened: ActualAction) -> Diagnostic? {
            Self.compare(expected, happened) ?? early(expected, happened, since: test.start)
        }
        let (happened, keptBack) = sent(actualActions(run), against: test.expected)
        let reasons = TestReasons(run: run, keptBack: keptBack)
        var problems: [Diagnostic] = []
        for (index, expected) in test.expected.enumerated() {
            guard index < happened.count else {
                var problem = failed("`\(expected.kind)` was expected but did not happen", expected.place)
                problem.details = reasons.lines(for: expected)
                problems.append(problem)
                continue
            }
            if var problem = compare(expected, happened[index]) {
                if expected.kind != happened[index].kind { problem.details = reasons.lines(for: expected) }
                problems.append(problem)
                break  // the rest is shifted and would repeat the problem
            }
        }
        if problems.isEmpty, happened.count > test.expected.count {
            let extra = happened[test.expected.count]
            problems.append(failed("`\(extra.kind)` happened but was not expected", test.expectPlace, help: extra.line))
        }
        if run.isCutShort {
            problems.append(failed("the test was stopped after schedules fired \(TestRun.maxFirings) times", test.expectPlace))
        }
        for error in run.errors {
            problems.append(failed("rule `\(error.rule)` failed: \(error.message)", error.place ?? test.expectPlace))
        }
        return problems
    }

    /// The actions to compare. Actions that a silence or a quiet time keeps back, and closing messages that may not be sent, are
    /// left out unless the test expects them; the former are listed apart.
    private static func sent(
        _ all: [ActualAction], against expected: [TestCase.Expectation]
    ) -> (compared: [ActualAction], keptBack: [ActualAction]) {
        var rest = all[...]
        var shown: [ActualAction] = []
        var keptBack: [ActualAction] = []
        for expectation in expected {
            while let next = rest.first,
                next.isKeptBack && !expectation.isKeptBack
                    || (next.isKeptBack || next.isImplied) && compare(expectation, next) != nil
            {
                if next.isKeptBack { keptBack.append(next) }
                rest.removeFirst()
            }
            if let next = rest.popFirst() { shown.append(next) }
        }
        return (shown + rest.filter { !$0.isKeptBack && !$0.isImplied }, keptBack + rest.filter(\.isKeptBack))
    }

    private static func actualActions(_ run: TestRun) -> [ActualAction] {
        var result: [ActualAction] = []
        var last: Delivery.ID?
        for delivery in run.deliveries where !delivery.isEmptyMessage {
            var failure: Failure?
            if case .dead(let reason) = delivery.initial { failure = reason }
            let isSilenced = if case .silenced = delivery.initial { true } else { false }
            let isQuiet = delivery.isQuiet
            let until: Timestamp? = if case .quiet = delivery.initial { delivery.runAt } else { nil }
            if let previous = last, result.last?.isSilenced == isSilenced, result.last?.isQuiet == isQuiet,
                previous.occasion == delivery.id.occasion, previous.rule == delivery.id.rule, previous.step == delivery.id.step
            {
                result[result.count - 1].receivers.append(delivery.id.receiver)
            } else {
                result.append(
                    ActualAction(
                        rule: delivery.id.rule, kind: delivery.action, receivers: [delivery.id.receiver], task: delivery.task,
                        arguments: delivery.arguments, failure: failure, isSilenced: isSilenced,
                        isQuiet: isQuiet, until: until, isImplied: delivery.closesEscalation && run.book.context.isOpen,
                        // A message that a quiet time held is sent at its end.
                        at: isQuiet ? delivery.createdAt : delivery.runAt))
            }
            last = delivery.id
        }
        return result
    }

    /// The problem if an action happened earlier than its `after` allows.
    private static func early(
        _ expected: TestCase.Expectation, _ happened: ActualAction, since start: Timestamp
    ) -> Diagnostic? {
        guard let earliest = expected.earliest, happened.at < start + earliest else { return nil }
        let passed = DurationText.format(happened.at - start)
        return failed(
            "`\(expected.kind)` happened \(passed) after the test's begin, before `after: \(DurationText.format(earliest))`",
            expected.place)
    }

    private static func compare(_ expected: TestCase.Expectation, _ happened: ActualAction) -> Diagnostic? {
        guard expected.kind == happened.kind else {
            return failed("`\(expected.kind)` was expected, but this happened", expected.place, help: happened.line)
        }
        if let rule = expected.rule, rule != happened.rule {
            return failed("rule `\(happened.rule)` did it, not `\(rule)`", expected.place)
        }
        guard expected.isSilenced == happened.isSilenced else {
            return failed("no silence keeps `\(expected.kind)` back", expected.place, help: happened.line)
        }
        guard expected.isQuiet == happened.isQuiet else {
            return failed("no quiet time keeps `\(expected.kind)` back", expected.place, help: happened.line)
        }
        switch (expected.dead, happened.failure) {
        case (nil, let failure?): return failed("`\(expected.kind)` is dead: \(failure.message)", expected.place)
        case (_?, nil): return failed("`\(expected.kind)` is not dead", expected.place, help: happened.line)
        case (let reason?, let failure?) where !reason.isEmpty && reason != failure.reason.rawValue:
            return failed(
                "`\(expected.kind)` is dead for the reason `\(failure.reason.rawValue)`", expected.place, help: failure.message)
        default: break
        }
        for (name, wanted) in expected.arguments {
            let found = happened.values(of: name, like: wanted)
            guard !found.contains(wanted) else { continue }
            guard let first = found.first else {
                return failed("`\(name)` is not \(wanted.text)", expected.place(of: name), help: "it is missing")
            }
            let (path, part, other) = difference(wanted, first, at: name)
            let shown = other.map { "it is \($0.text)" } ?? "it is missing"
            let message = part.map { "`\(path)` is not \($0.text)" } ?? "`\(path)` was not expected"
            return failed(message, expected.place(of: path), help: shown)
        }
        return nil
    }

    /// The first difference of two values: the member or element, its expected value (nil: none), and its actual one.
    private static func difference(_ wanted: JSON, _ found: JSON, at path: String) -> (path: String, wanted: JSON?, found: JSON?)
    {
        switch (wanted, found) {
        case (.object(let one), .object(let other)):
            for (name, value) in one where other[name] != value {
                guard let there = other[name] else { return ("\(path).\(name)", value, nil) }
                return difference(value, there, at: "\(path).\(name)")
            }
            if let (name, value) = other.first(where: { one[$0.key] == nil }) { return ("\(path).\(name)", nil, value) }
        case (.array(let one), .array(let other)) where one.count == other.count:
            for (index, pair) in zip(one, other).enumerated() where pair.0 != pair.1 {
                return difference(pair.0, pair.1, at: "\(path)[\(index)]")
            }
        default: break
        }
        return (path, wanted, found)
    }

    private static func failed(_ message: String, _ place: Diagnostic.Place, help: String? = nil) -> Diagnostic {
        Diagnostic(code: "test-failed", message, at: place, help: help)
    }
}

extension Delivery {
    /// Whether it is a message that is not sent, because all its lists are empty.
    var isEmptyMessage: Bool { if case .done = initial, case .message = arguments { true } else { false } }
}

extension TestComparison.ActualAction {
    /// The forms in which an argument may be expected; the first one is shown.
    func values(of name: String, like wanted: JSON = .null) -> [JSON] {
        switch name {
        case "to":
            let names = receivers.map(JSON.string)
            return names.count == 1 ? [.array(names), names[0]] : [.array(names)]
        case "task": return [task?.key.text, task?.number].compactMap { $0.map(JSON.string) }
        default: break
        }
        switch arguments {
        case .values(let values): return values[name].map { [$0] } ?? []
        case .message(let message): return Self.values(of: name, in: message, like: wanted)
        }
    }

    private static func values(of name: String, in message: Message, like wanted: JSON) -> [JSON] {
        switch name {
        case "sections":
            let forms = wanted.asArray ?? []
            return [
                .array(
                    message.sections.enumerated().map { place, section in
                        section.value(like: forms.indices.contains(place) ? forms[place] : .null)
                    })
            ]
        case "mentions": return [.array(message.mentions.map(\.text))]
        case "update": return [.bool(message.update)]
        case "resolve": return [.bool(message.resolve)]
        case "severity": return [.string(message.severity.rawValue)]
        case "link": return message.link.map { [.string($0.address)] } ?? []
        case "thread": return message.thread.map { [.string($0)] } ?? []
        default:
            let own = Message.Section(title: message.title, text: message.text, list: message.list, fields: message.fields)
            return own.values(of: name)
        }
    }

    /// The action on one line, as a test would expect it.
    var line: String {
        var shown: [String] = []
        if let failure { shown.append("dead: \(failure.reason.rawValue)") }
        let names: [String]
        switch arguments {
        case .values(let values): names = (task == nil ? [] : ["task"]) + values.keys
        case .message(let message):
            names =
                ["to", "title", "text", "list", "link", "thread"] + (message.update ? ["update"] : [])
                + (message.resolve ? ["resolve"] : [])
        }
        for name in names {
            if let value = values(of: name).first, value != "" { shown.append("\(name): \(value.text)") }
        }
        return "\(kind): {\(shown.joined(separator: ", "))}"
    }
}

extension Message.Section {
    /// The forms in which a member may be expected; the first one is shown.
    fileprivate func values(of name: String) -> [JSON] {
        switch name {
        case "title": return [.string(title.markdown), .string(title.plainText)]
        case "text": return text.isEmpty ? [""] : [.string(text.markdown), .string(text.plainText)]
        case "list":
            guard let list else { return [] }
            if list.items.isEmpty {
                let lines = list.empty.isEmpty ? [] : [list.empty.markdown, list.empty.plainText]
                return lines.map { JSON.array([.string($0)]) } + [.array([])]
            }
            return [.array(list.items.map { .string($0.markdown) }), .array(list.items.map { .string($0.plainText) })]
        case "more": return [.int(Int64(list?.more ?? 0))]
        case "fields": return [.object(JSON.Object(fields.map { ($0.name.plainText, .string($0.value.plainText)) }))]
        default: return []
        }
    }

    /// The section in the form in which it is expected: the members that a mapping names, or its plain text.
    fileprivate func value(like wanted: JSON) -> JSON {
        guard case .object(let members) = wanted else { return .string(plainText) }
        return .object(
            JSON.Object(
                members.map { name, value -> (String, JSON) in
                    let forms = values(of: name)
                    return (name, forms.contains(value) ? value : forms.first ?? .null)
                }))
    }

    /// The title, the text, the lines of the list and the fields without markup, one below the other.
    fileprivate var plainText: String {
        var lines = [title.plainText, text.plainText]
        if let list { lines += list.items.isEmpty ? [list.empty.plainText] : list.items.map(\.plainText) }
        lines += fields.map { "\($0.name.plainText): \($0.value.plainText)" }
        return lines.filter { !$0.isEmpty }.joined(separator: "\n")
    }
}

extension Message.Mention {
    fileprivate var text: JSON {
        switch self {
        case .user(let id): .string("user \(id)")
        case .group(let id): .string("group \(id)")
        }
    }
}
