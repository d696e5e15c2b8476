import BellhopCore
import YAML

struct TestCaseReader: ProblemCollector {
    let file: String
    /// The rules that run in the test.
    private(set) var book: RuleBook
    let context: RuleContext
    var problems = Diagnostics()
    /// The time of the test at this point; nil if unknown.
    private var present: Timestamp?

    init(file: String, book: RuleBook, context: RuleContext) { (self.file, self.book, self.context) = (file, book, context) }

    mutating func read(_ node: Node) -> TestCase? {
        let settings = self.settings(node, as: TestKeys.test, of: "a test")
        if let node = node["only"] { narrow(to: settings.texts("only"), node) }
        present = settings.text("at").flatMap { Timestamp($0, in: context.timeZone) }
        let given = (node["given"].flatMap { list($0, "`given`") } ?? []).compactMap { step($0) }
        let expected = expectations(node["expect"].flatMap { list($0, "`expect`") } ?? [])
        guard let name = settings.text("name"), let at = settings.text("at"), let start = moment(at, node["at"] ?? node) else {
            return nil
        }
        let place = Diagnostic.Place(node.mapping?["expect"]?.key ?? node, file: file)
        var test = TestCase(
            name: name, line: node.range.start.line, book: book, start: start, given: given, expected: expected,
            expectPlace: place)
        test.silences = silences(node["silences"])
        if !problems.hasErrors { reviewEffect(of: node) }
        return test
    }

    /// Reports a test in which nothing can happen, and that expects nothing.
    private mutating func reviewEffect(of node: Node) {
        guard let key = node.mapping?["expect"]?.key, node["expect"]?.items?.isEmpty == true else { return }
        let steps = node["given"]?.items ?? (node["given"] == nil ? [] : [node])
        guard steps.allSatisfy({ $0["tasks"] != nil }) else { return }
        report(
            "test-cannot-fail", "this test gives no event and lets no time pass, so it cannot fail", at: key,
            help: "add an event or `wait` to `given`")
    }

    /// Limits the test to these rules.
    private mutating func narrow(to names: [String], _ node: Node) {
        if names.isEmpty {
            report("wrong-value", "`only` names no rule", at: node, help: "name the rules that run, or leave it out")
        }
        review(names, in: node, "the rule files")
        let known = names.filter(book.contains)
        if !known.isEmpty { book = book.only(Set(known)) }
    }

    /// Reports names of unknown rules.
    mutating func review(_ names: [String], in node: Node, _ place: String) {
        for name in names where !book.contains(name) {
            let help = Suggestion.didYouMean(name, among: book.rules.map(\.name))
            report(
                "unknown-rule", "there is no rule `\(name)` in \(place)",
                at: node.items?.first { $0.scalarText == name } ?? node, help: help)
        }
    }

    private mutating func list(_ node: Node, _ what: String) -> [Node]? {
        if let items = node.items { return items }
        return refuse(
            "wrong-type", "\(what) must be a list, not \(node.kind)", at: node,
            help: node.mapping != nil ? "begin each entry with `- `" : what == "`expect`" ? "write `[]` to expect nothing" : nil)
    }

    mutating func moment(_ text: String, _ node: Node) -> Timestamp? {
        if let moment = Timestamp(text, in: context.timeZone) { return moment }
        return refuse("wrong-value", "`\(text)` is not a time", at: node, help: "such as 2026-01-05T09:00:00Z")
    }

    // MARK: Events

    private mutating func step(_ node: Node) -> TestCase.Step? {
        guard let mapping = node.mapping, let pair = mapping.first(where: { !TestKeys.besideEvent.contains($0.name) })
        else {
            let event = node.scalarText.flatMap { name in context.events.nameable.first { $0.type.name == name } }
            return refuse(
                "wrong-type", "this is not an event or a time step", at: node,
                help: event.map { "write `\($0.type.name): {\($0.hasTask ? "task: {id: …}" : "…")}`" }
                    ?? "write an event, `wait`, `at` or `tasks`")
        }
        for other in mapping where other.name != pair.name {
            if !TestKeys.besideEvent.contains(other.name) {
                report(
                    "unknown-key", "`\(pair.name)` and `\(other.name)` are separate steps", at: other.key,
                    help: "begin each with `- `")
            } else if TestKeys.otherSteps.contains(pair.name) {
                report(
                    "unknown-key", "`\(other.name)` cannot stand beside `\(pair.name)`", at: other.key,
                    help: "write it beside an event")
            }
        }
        switch pair.name {
        case "wait":
            guard let time = value(pair.value, as: TestKeys.wait)?.asInt else { return nil }
            if let before = present { present = before + .microseconds(time) }
            return .wait(.microseconds(time))
        case "at":
            guard let moment = moment(pair.value.scalarText ?? "", pair.value) else { return nil }
            if let present, moment < present {
                report(
                    "time-goes-on", "the time of the test is already \(present.formatted(in: .utc))", at: pair.value,
                    help: "write a later time, or begin the test earlier: write `at: …` next to its `name`")
            } else {
                present = moment
            }
            return .until(moment)
        case "silence": return silence(pair.value)
        case "restart", "down": return restartOrDowntime(pair)
        case "tasks": return tasks(pair.value).map(TestCase.Step.tasks)
        default: return event(pair, source: mapping[TestKeys.source.name]?.value, own: mapping[TestKeys.own.name]?.value)
        }
    }

    private mutating func event(_ pair: Mapping.Pair, source node: Node?, own: Node?) -> TestCase.Step? {
        let type = EventType(pair.name)
        guard let definition = context.events[type], definition.canBeNamed else {
            let names = context.events.nameable.map(\.type.name) + TestKeys.otherSteps
            let help =
                type == .scheduleDue
                ? "schedules fire by themselves as time passes" : EventSuggestion.help(for: pair.name, among: names)
            return refuse("unknown-event", "there is no event `\(pair.name)` for a test", at: pair.key, help: help)
        }
        var facts = TestFacts(file: file, context: context)
        defer { problems.report(facts.problems) }
        var data = facts.data(definition, pair.value)
        let rule = book.compiled.first { $0.summary.types.contains(type) } ?? book.compiled.first
        let fallback =
            definition.isLogin
            ? data[.connection]?.asString ?? rule?.sources.first ?? "" : rule?.firstSource(context) ?? ""
        let source = node?.scalarText ?? fallback
        var subject = source
        if definition.hasTask {
            if let node { reviewSource(source, node) }
            guard let task = facts.task(type, pair.value, &data, source: source) else { return nil }
            subject = "test/\(task.key.text)"
        }
        let isOwn = own.map { self.isOwn($0, definition) } ?? (data[.comment]?[.own] == true)
        return .event(
            type, source: source, subject: subject, data: data, hop: isOwn ? 1 : 0, place: Diagnostic.Place(pair.key, file: file))
    }

    /// Whether a write of a rule caused the event, as `own` beside it says.
    private mutating func isOwn(_ node: Node, _ event: EventDefinition) -> Bool {
        if !event.hasTask || event.type == .taskCommented {
            report(
                "unknown-key", "`own` cannot stand beside `\(event.type.name)`", at: node,
                help: event.hasTask ? "write `comment: {own: true, text: …}`" : "it is for changes of tasks")
        }
        return value(node, as: TestKeys.own) == true
    }

    private mutating func tasks(_ node: Node) -> [Scope.ID: [Snapshot]]? {
        guard let items = list(node, "`tasks`") else { return nil }
        var facts = TestFacts(file: file, context: context)
        defer { problems.report(facts.problems) }
        var result: [Scope.ID: [Snapshot]] = [:]
        for rule in book.compiled { for scope in rule.scopes + rule.snapshots { result[scope] = [] } }
        for item in items {
            let source = item["source"]?.scalarText ?? book.compiled.first?.firstSource(context) ?? ""
            if let place = item["source"], !reviewSource(source, place) { continue }
            guard let task = facts.snapshot(item, source: source) else { continue }
            result[facts.facts(of: source).scope, default: []].append(task)
        }
        return result
    }

    /// Reports a source of tasks that bellhop.yaml does not have; false if there is none of this name.
    @discardableResult
    private mutating func reviewSource(_ name: String, _ node: Node) -> Bool {
        let names = context.taskSources.map(\.name)
        if context.isOpen || names.contains(name) { return true }
        report(
            "unknown-source", "there is no source `\(name)`", at: node, help: Suggestion.didYouMean(name, among: names))
        return false
    }

    // MARK: Expectations

    mutating func expectation(_ node: Node) -> TestCase.Expectation? {
        let kinds = context.actions.map(\.kind)
        let keys = TestKeys.expectation.map(\.name)
        guard let mapping = node.mapping, let pair = mapping.first(where: { !keys.contains($0.name) }) else {
            let kind = node.scalarText.flatMap { kinds.contains($0) ? $0 : nil }
            return refuse(
                "wrong-type", "this is not an action", at: node,
                help: kind.map { "write `\($0): {}`" } ?? "such as `comment: {text: …}`")
        }
        guard let action = context.actions.first(where: { $0.kind == pair.name }) else {
            return refuse(
                "unknown-action", "there is no action `\(pair.name)`", at: pair.key,
                help: Suggestion.didYouMean(pair.name, among: kinds))
        }
        var reader = SettingsReader<Never>(file: file)
        let extra = reader.settings(node, as: TestKeys.expectation, of: "an expectation", besides: [pair.name])
        let settings = TestKeys.arguments(of: action)
        var arguments: JSON.Object = [:]
        var places: [String: Diagnostic.Place] = [:]
        if let short = action.shorthand(for: pair.value), let setting = settings.first(where: { $0.name == short.name }) {
            arguments[short.name] = reader.read(pair.value, as: setting)?.json
            note(pair.value, at: short.name, in: &places)
        } else {
            arguments = reader.settings(pair.value, as: settings, of: "`\(action.kind)`").values
            for argument in pair.value.mapping?.pairs ?? [] { note(argument.value, at: argument.name, in: &places) }
        }
        problems.report(reader.diagnostics)
        var dead: String?
        switch extra.values["dead"] {
        case .bool(let flag)?: dead = flag ? "" : nil
        case .string(let reason)?: dead = reason
        case .null?, .int?, .double?, .array?, .object?, nil: break
        }
        return TestCase.Expectation(
            kind: action.kind, arguments: arguments, rule: extra.text("rule"), dead: dead,
            isSilenced: extra.boolean("silenced") == true,
            isQuiet: extra.boolean("quiet") == true, place: Diagnostic.Place(pair.key, file: file), places: places)
    }

    /// Notes the places of a value and of everything in it.
    private func note(_ node: Node, at path: String, in places: inout [String: Diagnostic.Place]) {
        places[path] = Diagnostic.Place(node, file: file)
        for pair in node.mapping?.pairs ?? [] { note(pair.value, at: "\(path).\(pair.name)", in: &places) }
        for (number, item) in (node.items ?? []).enumerated() { note(item, at: "\(path)[\(number)]", in: &places) }
    }
}

extension Rule {
    /// The default source of a test's events.
    func firstSource(_ context: RuleContext) -> String { sources.first ?? context.sources.first?.name ?? "" }
}

extension TestCaseReader {
    /// The silences of the test. Mistakes in their settings are reported with those of the test.
    mutating func silences(_ node: Node?) -> [Silence] {
        SettingsReader<Never>.items(of: node, as: TestKeys.silence, of: "a silence", file: file).compactMap { values, item in
            guard let starts = moment(values.text("starts") ?? "", item["starts"] ?? item),
                let ends = moment(values.text("ends") ?? "", item["ends"] ?? item)
            else { return nil }
            guard starts < ends else {
                report("wrong-value", "`ends` is not after `starts`", at: item["ends"] ?? item)
                return nil
            }
            return silence(values, item, starts: starts, ends: ends)
        }
    }

    /// A silence that begins at this point of the test.
    mutating func silence(_ node: Node) -> TestCase.Step? {
        let values = settings(node, as: TestKeys.givenSilence, of: "`silence`")
        guard let span = values.duration("for"),
            let silence = silence(values, node, starts: .distantFuture, ends: .distantFuture)
        else { return nil }
        return .silence(silence, span)
    }

    private mutating func silence(_ values: Settings, _ node: Node, starts: Timestamp, ends: Timestamp) -> Silence? {
        if let when = values.text("when"), let place = node["when"] {
            let found = SilenceBook.problems(of: when, context: context)
            for var problem in found.all {
                problem.place = Diagnostic.Place(place, file: file)
                problems.report(problem)
            }
            if found.hasErrors { return nil }
        }
        let rules = values.texts("rules")
        review(rules, in: node["rules"] ?? node, "this test")
        return Silence(
            when: values.text("when"), rules: rules, receivers: values.texts("receivers"), starts: starts, ends: ends,
            writes: values.boolean("writes") ?? false)
    }
}

/// The agent's downtimes in a test, and the times when its actions are expected.
extension TestCaseReader {
    /// `restart: true` or `down: 2h`.
    mutating func restartOrDowntime(_ pair: Mapping.Pair) -> TestCase.Step? {
        let value = self.value(pair.value, as: pair.name == "down" ? TestKeys.down : TestKeys.restart)
        if pair.name == "down" { return value?.asInt.map { .down(.microseconds($0)) } }
        if value == false { report("wrong-value", "`restart` is always `true`", at: pair.value, help: "leave it out otherwise") }
        return value == true ? .restart : nil
    }

    /// The expected actions, each with the time of the last `after` above it.
    mutating func expectations(_ nodes: [Node]) -> [TestCase.Expectation] {
        var earliest: Duration?
        var expected: [TestCase.Expectation] = []
        for (number, node) in nodes.enumerated() {
            if let pair = node.mapping?.first(where: { $0.name == TestKeys.after.name }) {
                if let other = node.mapping?.first(where: { $0.name != pair.name }) {
                    report(
                        "unknown-key", "`after` and `\(other.name)` are separate entries", at: other.key,
                        help: "begin each with `- `")
                }
                if number == nodes.count - 1 {
                    report("wrong-value", "nothing follows this `after`", at: pair.key, help: "leave it out")
                }
                earliest = after(pair.value, earliest) ?? earliest
            } else if var one = expectation(node) {
                one.earliest = earliest
                expected.append(one)
            }
        }
        return expected
    }

    private mutating func after(_ node: Node, _ before: Duration?) -> Duration? {
        guard let time = value(node, as: TestKeys.after)?.asInt else { return nil }
        let span = Duration.microseconds(time)
        if let before, span <= before {
            report(
                "time-goes-on", "the entries before this one are expected after \(DurationText.format(before))", at: node,
                help: "`after` counts from the test's begin")
        }
        return span
    }
}
