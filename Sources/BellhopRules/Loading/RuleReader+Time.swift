import BellhopCore
import CEL
import YAML

/// The parts of a rule that wait, count or gather: `each`, `for`, `count`, `group`.
extension RuleReader {
    /// - Parameter misplaced: keys whose contents were reported as misplaced.
    mutating func timeParts(
        _ mapping: Mapping, besides misplaced: Set<String>, _ trigger: TriggerReader, _ events: [EventDefinition],
        _ compiler: inout ExpressionCompiler
    ) -> TimeParts {
        var parts = TimeParts()
        if let pair = mapping["each"] { parts.each = each(pair.value, trigger, &compiler) }
        if let pair = mapping["for"] {
            parts.hold = hold(pair.value, isForEach: mapping["each"] != nil, &compiler)
            let isScheduled = trigger.schedule != nil && events.allSatisfy { $0.origin == .rule }
            if isScheduled, mapping["each"] == nil {
                report(
                    "not-together", "`for` needs a task whose condition holds, and a schedule has none", at: pair.key,
                    help: "add `each: tasks`, which runs the rule for each task")
            } else if parts.hold?.by == nil, mapping["each"] == nil, !events.contains(where: { $0[.task] != nil }),
                !events.isEmpty
            {
                report(
                    "not-together", "`for` needs a key, and these events have no task", at: pair.key,
                    help: "write `for: {time: …, by: event.subject}`")
            }
            if trigger.pattern?.kind == Pattern.Kind.none {
                report(
                    "not-together", "`for` cannot be combined with `none`, which already waits", at: pair.key,
                    help: "leave `for` out, and write the whole time in `within`")
            }
            if trigger.triggers.allSatisfy({ $0.type == .taskRemoved }), !trigger.triggers.isEmpty {
                report("not-together", "`task_removed` ends each wait, so this rule can never run", at: pair.key)
            }
        }
        if let pair = mapping["count"], !misplaced.contains("count") {
            parts.count = count(pair.value, isLate: trigger.pattern != nil, &compiler)
        }
        if let pair = mapping["group"], !misplaced.contains("group") {
            parts.group = group(pair.value, pair.key, isLate: trigger.pattern != nil, &compiler)
        }
        return parts
    }

    /// Warns of a condition that reads the event itself, because the next event of the task then makes it false.
    mutating func warnOfNextEvent(_ condition: RuleExpression, _ names: RuleNames, _ node: YAML.Node) {
        // Without a task, there is only the event to read.
        if !names.isAboutTask { return }
        var used = Set(condition.variables + condition.functions)
        for (name, more) in names.variables where used.contains(name) { used.formUnion(more) }
        guard let name = ["event", "before", "changes", "comment", "changed"].first(where: used.contains) else { return }
        warn(
            "ends-with-next-event", "`when` reads `\(name)`, so the next event of the task ends the wait of `for`", at: node,
            help:
                "write a condition about the task's present fields, such as `task.priority == 1`, and name in `on` the event that begins the wait"
        )
    }

    /// A fingerprint of everything that decides whether the rule runs, and how it waits, counts and groups. It ignores quotes,
    /// comments and indentation.
    func waits(_ mapping: Mapping, _ condition: RuleExpression?, _ time: TimeParts, _ names: RuleNames) -> String {
        let parts = ["on", "from", "each", "when", "for", "count", "group"]
        var members = mapping.filter { parts.contains($0.name) }.map { "\($0.name): \(Self.plain($0.value))" }
        // Shadow runs have a state of their own.
        if mapping["mode"]?.value.scalarText == "shadow" { members.append("mode: shadow") }
        // The values of `let` that these expressions use, directly or through other values.
        let values = mapping["let"]?.value.mapping?.map { ($0.name, Self.plain($0.value)) } ?? []
        let expressions =
            [condition, time.each, time.hold?.by, time.count?.by, time.count?.distinct, time.group?.by]
            + (time.pattern.map { pattern in [pattern.by] + (pattern.entries + pattern.after).map(\.condition) } ?? [])
        var used = Set(expressions.compactMap { $0?.variables }.joined())
        for (name, text) in values.reversed() where used.contains(name) {
            members.append("let \(name): \(text)")
            used.formUnion(names.variables[name] ?? [])
        }
        return Fingerprint.of("waits", members.sorted().joined(separator: "\n")).hex
    }

    private static func plain(_ node: YAML.Node) -> String {
        if let items = node.items { return "[" + items.map(plain).joined(separator: ", ") + "]" }
        if let mapping = node.mapping {
            return "{" + mapping.map { "\($0.name): \(plain($0.value))" }.sorted().joined(separator: ", ") + "}"
        }
        return node.scalarText ?? ""
    }

    private mutating func each(
        _ node: YAML.Node, _ trigger: TriggerReader, _ compiler: inout ExpressionCompiler
    ) -> RuleExpression? {
        if trigger.schedule == nil || trigger.triggers.contains(where: { $0.type != .scheduleDue }) {
            report(
                "not-together", "`each` needs a schedule: other events have their own task", at: node,
                help: "write `on: {every: 5m}`")
        }
        // The list is evaluated before there is an element.
        return compiler.compile(node, "`each`", expecting: .list(.object(compiler.names.types.task)))
    }

    private mutating func hold(_ node: YAML.Node, isForEach: Bool, _ compiler: inout ExpressionCompiler) -> TimeParts.Hold? {
        if node.mapping == nil { return span(node, "`for`").map { TimeParts.Hold(span: $0, existing: false) } }
        let tree = tree(node, RuleKeys.hold, of: "`for`")
        let by = tree.deferred("by").flatMap { key($0, "`by`", &compiler) }
        let needsBegun = by != nil && !isForEach && !Self.isTaskID(tree.deferred("by"))
        return span(tree, node).map {
            TimeParts.Hold(span: $0, by: by, needsBegun: needsBegun, existing: tree["existing"]?.json == true)
        }
    }

    private mutating func count(
        _ node: YAML.Node, isLate: Bool, _ compiler: inout ExpressionCompiler
    ) -> TimeParts.Count? {
        let tree = tree(node, RuleKeys.count, of: "`count`")
        let by = tree.deferred("by").flatMap { key($0, "`by`", &compiler, isLate: isLate) }
        let distinct = tree.deferred("distinct").flatMap { key($0, "`distinct`", &compiler, isLate: isLate) }
        guard let atLeast = tree["at_least"]?.json?.asInt, tree["within"] != nil, let place = node["within"],
            let within = span(place, "`within`")
        else {
            return nil
        }
        return TimeParts.Count(atLeast: Int(atLeast), within: within, by: by, distinct: distinct)
    }

    private mutating func group(
        _ node: YAML.Node, _ key: YAML.Node, isLate: Bool, _ compiler: inout ExpressionCompiler
    ) -> TimeParts.Group? {
        let tree = tree(node, RuleKeys.group, of: "`group`")
        let by = tree.deferred("by").flatMap { self.key($0, "`by`", &compiler, isLate: isLate) }
        func time(_ name: String) -> Duration { .microseconds(tree[name]?.json?.asInt ?? 0) }
        let isRefused = ["wait", "every"].contains { node[$0] != nil && tree[$0] == nil }
        if time("wait") == .zero, time("every") == .zero, node.mapping != nil, !isRefused {
            report("missing-key", "`group` needs `wait`, `every` or both", at: key, help: "write `group: {wait: 30s}`")
        }
        let max = tree["max"]?.json?.asInt.map { Int($0) } ?? TimeParts.Group.most
        return TimeParts.Group(by: by, wait: time("wait"), every: time("every"), max: max)
    }

    /// Warns of `once` and `throttle` with the task's id as their key beside a group of several tasks: they see only the latest
    /// task.
    mutating func warnOfKeyBesideGroup(_ mapping: Mapping, _ group: TimeParts.Group?) {
        guard group != nil, !Self.isTaskID(mapping["group"]?.value["by"]) else { return }
        for (what, node) in [("once", mapping["once"]?.value), ("throttle", mapping["throttle"]?.value["by"])] {
            guard let node, Self.isTaskID(node) else { continue }
            let other = what == "once" ? "leave `once` out" : "use `every` of `group` instead of `throttle`"
            warn(
                "latest-task-only",
                "`\(what)` is decided only by the latest task of a group, but stops the run for all its tasks", at: node,
                help: "write `group: {by: task.id, …}`, or \(other)")
        }
    }

    /// Whether a key is the task's id as written.
    static func isTaskID(_ node: YAML.Node?) -> Bool { node?.scalarText?.trimmedBlanks == "task.id" }

    // MARK: Spans

    /// A duration, or a mapping of a time and a calendar.
    mutating func span(_ node: YAML.Node, _ what: String) -> Span? {
        if node.mapping != nil { return span(tree(node, RuleKeys.span, of: what), node) }
        let setting = Setting(String(what.dropFirst().dropLast()), .duration, least: "1ms", "")
        return value(node, as: setting)?.asInt.map { Span(time: .microseconds($0)) }
    }

    private mutating func span(_ tree: SettingsTree<YAML.Node>, _ node: YAML.Node) -> Span? {
        guard let time = tree["time"]?.json?.asInt else { return nil }
        var span = Span(time: .microseconds(time))
        guard let name = tree["calendar"]?.json?.asString, let place = node["calendar"] else { return span }
        // Without a configuration, the names of calendars are unknown.
        guard let calendars = context.calendars else { return span }
        guard let calendar = calendars[name] else {
            problems.report(CalendarFunctions.unknown(name, among: calendars, at: Diagnostic.Place(place, file: file)))
            return nil
        }
        (span.calendar, span.calendarName) = (calendar, name)
        return span
    }

    /// Reads a mapping of which the expressions are compiled later.
    mutating func tree(_ node: YAML.Node, _ settings: [Setting], of subject: String) -> SettingsTree<YAML.Node> {
        var reader = SettingsReader<YAML.Node>(file: file) { node, text, setting in
            setting.type == .expression ? .deferred(node) : .text(text)
        }
        let tree = reader.read(node, as: settings, of: subject)
        problems.report(reader.diagnostics)
        return tree
    }
}

extension SettingsTree<YAML.Node> {
    func deferred(_ name: String) -> YAML.Node? { if case .deferred(let node)? = self[name] { node } else { nil } }
}
