import BellhopCore
import CEL
import YAML

/// `escalate` and `until`.
extension RuleReader {
    /// - Parameter steps: has read the steps under `do`.
    mutating func escalation(
        _ mapping: Mapping, _ trigger: TriggerReader, _ condition: RuleExpression?, _ steps: inout StepReader
    ) -> Escalation? {
        guard let pair = mapping["escalate"] else {
            if let until = mapping["until"] {
                report(
                    "not-together", "`until` ends an escalation, but this rule has no `escalate`", at: until.key,
                    help: "add `escalate`: a list of steps such as `{after: 15m, do: […]}`")
            }
            return nil
        }
        checkTask(of: pair, trigger, steps.compiler.names)
        let until = mapping["until"].map { self.until($0.value, &steps.compiler) } ?? .standard
        // Without `until`, an answer ends the escalation.
        if mapping["until"] == nil { warnOfComments(steps.compiler.names.sources, at: pair.key) }
        let items = pair.value.mapping == nil ? pair.value.items ?? [] : [pair.value]
        guard !items.isEmpty else {
            let isEmpty = pair.value.items != nil
            return refuse(
                "wrong-type", isEmpty ? "`escalate` has no steps" : "`escalate` must be a list of steps, not \(pair.value.kind)",
                at: pair.value, help: "such as `escalate: [{after: 15m, do: […]}]`")
        }
        let read = items.enumerated().compactMap { step($1, at: $0, &steps) }
        guard read.count == items.count, let until else { return nil }
        let text = Self.text(mapping)
        return Escalation(
            steps: read, until: until, version: Fingerprint.of("escalation", text).hex, text: text, condition: condition)
    }

    /// Refuses an escalation of a rule without tasks, or of a rule that runs only for removed tasks.
    private mutating func checkTask(of pair: Mapping.Pair, _ trigger: TriggerReader, _ names: RuleNames) {
        if names.isForElement { return }
        if names.hasNoEvent {
            report(
                "no-task", "`escalate` needs a task, and `none` without `after` runs without one", at: pair.key,
                help: "add `after`, the event that begins the wait")
        } else if !names.events.contains(where: { $0[.task] != nil }) {
            let isScheduled = names.events.allSatisfy { $0.type == .scheduleDue }
            report(
                "no-task", "`escalate` needs a task, and the rule's \(isScheduled ? "schedule has" : "events have") none",
                at: pair.key, help: isScheduled ? "add `each: tasks`, which runs the rule for each task" : nil)
        } else if !trigger.triggers.isEmpty, trigger.triggers.allSatisfy({ $0.type == .taskRemoved }) {
            report("not-together", "`task_removed` ends each escalation, so these steps never run", at: pair.key)
        }
    }

    /// Nil if it has mistakes.
    private mutating func until(_ node: YAML.Node, _ compiler: inout ExpressionCompiler) -> Escalation.Until? {
        let outer = compiler.names
        defer { compiler.names = outer }
        compiler.names.environment.declare("answered", .bool)
        guard let (expression, read) = compiler.compileFully(node, "`until`", expecting: .bool) else { return nil }
        let readsAnswer = read.references.variables.contains("answered")
        if readsAnswer { warnOfComments(compiler.names.sources, at: node) }
        let isAlone = node.scalarText?.trimmedBlanks == "answered"
        return isAlone ? .answered : .expression(expression, readsAnswer: readsAnswer)
    }

    /// Warns if the sources report no comments, because comments then do not count as answers.
    private mutating func warnOfComments(_ sources: [RuleContext.SourceFacts], at node: YAML.Node) {
        guard !context.isOpen, !sources.isEmpty, sources.allSatisfy({ $0.comments != .yes }) else { return }
        let able = sources.lazy.compactMap { source in source.comments.missingLine.map { (source.name, $0) } }.first
        let names = sources.map(\.name).quotedList
        let silent = sources.count == 1 ? "source \(names) reports" : "sources \(names) report"
        warn(
            "no-comments", "comments do not count as answers here: \(silent) no comments", at: node,
            help: able.map { "in bellhop.yaml add `\($1)` to source `\($0)`" })
    }

    private mutating func step(_ node: YAML.Node, at place: Int, _ steps: inout StepReader) -> Escalation.Step? {
        guard node.mapping != nil else {
            return refuse(
                "wrong-type", "a step of `escalate` must be a mapping, not \(node.kind)", at: node,
                help: "such as `{after: 15m, do: […]}`")
        }
        let tree = tree(node, RuleKeys.escalation, of: "a step of `escalate`")
        let actions = node["do"].map { steps.read($0, under: "escalate.\(place)") } ?? []
        guard tree["after"] != nil, let after = node["after"].flatMap({ span($0, "`after`") }), !actions.isEmpty else {
            return nil
        }
        guard let again = node["repeat"] else { return Escalation.Step(after: after, repetition: nil, actions: actions) }
        guard tree["repeat"]?["every"] != nil, let every = again["every"].flatMap({ span($0, "`every`") }),
            let times = tree["repeat"]?["times"]?.json?.asInt
        else {
            return nil
        }
        return Escalation.Step(
            after: after, repetition: Escalation.Repetition(every: every, times: Int(times)), actions: actions)
    }

    // MARK: The text

    /// The YAML on which the escalation's steps and its end depend, on one line.
    private static func text(_ mapping: Mapping) -> String {
        let others = ["description", "do", "enabled", "mode", "once", "throttle"]
        return "{"
            + mapping.filter { !others.contains($0.name) }.sorted { $0.name < $1.name }
            .map { "\(quoted($0.name)): \(text($0.value))" }.joined(separator: ", ") + "}"
    }

    static func text(_ node: YAML.Node) -> String {
        if let items = node.items { return "[" + items.map(text).joined(separator: ", ") + "]" }
        if let mapping = node.mapping {
            return "{" + mapping.map { "\(quoted($0.name)): \(text($0.value))" }.joined(separator: ", ") + "}"
        }
        switch node.kind {
        case .null: return "null"
        case .bool, .int, .float: return node.scalarText ?? "null"
        case .string, .sequence, .mapping: return quoted(node.scalarText ?? "")
        }
    }

    private static func quoted(_ text: String) -> String { JSON.string(text).text }

    /// The rule of a text that an escalation was stored with; nil if it no longer fits the configuration.
    static func former(
        _ text: String, name: String, version: String, in context: RuleContext, sharing cache: SharedNameCache
    ) -> Rule? {
        guard let document = try? parse(SourceText(Array(text.utf8)), keys: RuleKeys.known).first else { return nil }
        var reader = RuleReader(file: name, context: context, purpose: .routing)
        return reader.read(document.root, name: name, sharing: cache, former: version)
    }
}
