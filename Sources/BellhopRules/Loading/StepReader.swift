import BellhopCore
import CEL
import YAML

/// Reads the steps under `do`.
struct StepReader: ProblemCollector {
    let context: RuleContext
    let rule: String
    /// The sources whose tasks the rule is about; empty if unknown.
    let sources: [RuleContext.SourceFacts]
    var compiler: ExpressionCompiler
    var names: Set<String> = []

    var file: String { compiler.file }
    var problems: Diagnostics {
        get { compiler.problems }
        set { compiler.problems = newValue }
    }

    /// - Parameter parent: the path of the step that these belong to; nil for those of the rule itself.
    mutating func read(_ node: YAML.Node, under parent: String? = nil) -> [Step] {
        guard let items = node.items else {
            report("wrong-type", "`do` must be a list of actions, not \(node.kind)", at: node, help: asList(node))
            return []
        }
        if items.isEmpty { report("wrong-type", "`do` has no actions", at: node, help: "such as `do: [{log: a text}]`") }
        checkNames(of: items)
        let steps = items.enumerated().compactMap { place, item in
            read(item, parent.map { StepPath("\($0).\(place)") } ?? StepPath(index: place))
        }
        assert(steps.count == items.count || problems.hasErrors, "A step of rule \(rule) was left out without an error.")
        return steps
    }

    /// The contents of `do`, written as a list.
    private func asList(_ node: YAML.Node) -> String? {
        if node.mapping?.first?.name.hasPrefix("-") == true { return "put a blank after each `-`" }
        guard node.mapping != nil else {
            let isAction = context.actions.contains { $0.kind == node.scalarText }
            return "such as `do: [{\(isAction ? node.scalarText ?? "log" : "log"): a text}]`"
        }
        let text = node.source.text(in: node.range)
        return text.hasPrefix("{") && !text.contains("\n") ? "write `do: [\(text)]`" : "begin each action with `- `"
    }

    private mutating func read(_ node: YAML.Node, _ path: StepPath) -> Step? {
        guard let mapping = node.mapping else {
            let text = node.scalarText ?? ""
            let kind = context.actions.map(\.kind).first { text.hasPrefix($0 + ":") }
            return refuse(
                "wrong-type", "an action must be a mapping, not \(node.kind)", at: node,
                help: kind == nil ? "such as `log: a text`" : "put a blank after the colon")
        }
        let kinds = context.actions.map(\.kind)
        let keys = RuleKeys.step.map(\.name)
        let actions = mapping.filter { kinds.contains($0.name) }
        for pair in actions {
            let arguments = context.actions.first { $0.kind == pair.name }.map(RuleKeys.arguments)?.map(\.name) ?? []
            let belongs = { (other: Mapping.Pair) in arguments.contains(other.name) || keys.contains(other.name) }
            if let outdented = Outdented(pair, in: mapping, belongs: belongs),
                outdented.pairs.contains(where: { !keys.contains($0.name) })
            {
                problems.report(outdented.besides(keys).diagnostic(file: file))
                return nil
            }
        }
        for pair in mapping where !keys.contains(pair.name) && !actions.contains(where: { $0.name == pair.name }) {
            let message =
                actions.isEmpty ? "there is no action `\(pair.name)`" : "the key `\(pair.name)` is not allowed next to an action"
            let isOfRule = RuleKeys.rule.contains { $0.name == pair.name && !$0.required }
            let help: String? =
                switch pair.name {
                case "when": "write `if`"
                case let name where isOfRule: "`\(name)` is a key of the rule: write it beside `do`"
                case "wait", "delay", "sleep": "a rule waits with `for: 10m`, and later steps belong under `escalate`"
                case let name where actions.isEmpty:
                    RuleKeys.actionAliases[name].map { "write `\($0)`" } ?? Suggestion.didYouMean(name, among: kinds + keys)
                        ?? "use " + kinds.quotedList
                default: Suggestion.didYouMean(pair.name, among: keys)
                }
            report(actions.isEmpty ? "unknown-action" : "unknown-key", message, at: pair.key, help: help)
            if actions.isEmpty { return nil }
        }
        guard let pair = actions.first else {
            return refuse("missing-key", "this names no action", at: node, help: "use " + kinds.joined(separator: ", "))
        }
        if actions.count > 1 {
            report(
                "two-actions", "`\(pair.name)` and `\(actions[1].name)` are two actions", at: actions[1].key,
                help: "begin each with `- `")
        }
        guard let action = context.actions.first(where: { $0.kind == pair.name }) else { return nil }
        return step(action, pair, node, mapping, path)
    }

    private mutating func step(
        _ action: ActionManifest, _ pair: Mapping.Pair, _ node: YAML.Node, _ mapping: Mapping, _ path: StepPath
    ) -> Step? {
        let condition = mapping["if"].map { compiler.condition($0.value, "`if`", instead: "leave the step out") }
        let others = Set(mapping.names).subtracting(RuleKeys.step.map(\.name)).union(["if"])
        let settings = settings(node, as: RuleKeys.step, of: "a step", besides: others)
        let tree = arguments(pair.value, of: action)
        refuseTemplatesAsKeys(in: pair.value)
        checkSources(of: action, pair)
        checkPermission(of: action, pair)
        if action.emitsEvent { checkEmitted(pair.value) }
        if let argument = action.program, let command = pair.value[argument] { checkProgram(command, argument) }
        let receivers = receivers(of: action, tree, pair)
        if action.isMessage { checkAbilities(pair.value, receivers) }
        let task = tree["task"].flatMap { action.effect == .writes ? ArgumentCompiler.compile($0, with: &compiler) : nil }
        if let task, !task.needs.isEmpty, let place = pair.value["task"] {
            report(
                "not-known-yet", "`task` cannot use `tasks`, `snapshot` or `now`", at: place,
                help: "compute the task from the event")
        }
        if action.effect == .writes, task == nil, !compiler.names.isAboutTask {
            report(
                "no-task", "`\(action.kind)` writes to a task, but the rule's events have no task", at: pair.key,
                help: "name the task: `task: …`")
        }
        guard let content = content(action, tree, pair), let receivers, condition.map({ $0 != nil }) ?? true else { return nil }
        let step = Step(
            path: path, name: settings.text("name"), action: action, condition: condition ?? nil, receivers: receivers,
            content: content, task: task, retry: Self.retry(settings, of: action),
            expires: settings.duration("expires") ?? action.expires, stopsOnError: settings.text("on_error") == "stop")
        if step.hasComputedHost, tree["allow_private"]?.json != true, !allowPrivate(receivers), let place = pair.value["url"] {
            warnOfComputedHost(at: place)
        }
        let words = "step \(step.name ?? path.text) (`\(action.kind)`)"
        compiler.purpose.coverage?.add(step: path, words, of: rule, at: Diagnostic.Place(pair.key, file: file))
        return step
    }

    /// Whether the connections that a step names all allow private addresses.
    private func allowPrivate(_ receivers: Step.Receivers) -> Bool {
        guard case .named(let names) = receivers else { return false }
        return names.allSatisfy { name in context.connections.contains { $0.name == name && $0.allowsPrivate } }
    }

    private mutating func arguments(_ node: YAML.Node, of action: ActionManifest) -> ArgumentCompiler.Tree {
        var reader = SettingsReader<RawArgument>(
            file: file, checksNumbers: true, hook: ArgumentCompiler.hook(file: file))
        let declared = settings(of: action, node)
        var review = TextReview(file: file)
        defer {
            problems.report(reader.diagnostics)
            problems.report(review.warnings)
        }
        guard let setting = action.shorthand(for: node) else {
            review.check(at: node, as: .record(declared))
            let misplaced = misplaced(in: node, of: action, declared)
            for key in misplaced {
                reader.report(
                    code: "unknown-key", "`\(action.kind)` has no setting `\(key.scalarText ?? "")`", at: key,
                    help: "`\(key.scalarText ?? "")` belongs next to `\(action.kind)`, at the same depth")
            }
            let tree = reader.read(
                node, as: declared, of: "`\(action.kind)`", besides: Set(misplaced.compactMap(\.scalarText)))
            check(tree, node, of: action, &reader)
            return tree
        }
        let name = setting.name
        review.check(at: node, as: setting.type)
        var written = setting
        if node.scalar != nil { written.name = action.kind }
        var members = reader.read(node, as: written).map { [(name: name, value: $0)] } ?? []
        check(.members(members), node, of: action, &reader)
        for other in action.arguments where other.name != name {
            if other.required {
                reader.report(code: "missing-key", "`\(action.kind)` needs `\(other.name)`", at: node, help: other.summary)
            }
            if let text = other.fallback, let value = try? other.type.value(of: text) {
                members.append((other.name, .value(value)))
            }
        }
        return .members(members)
    }

    /// The keys among an action's arguments that belong to its step.
    private func misplaced(in node: YAML.Node, of action: ActionManifest, _ declared: [Setting]) -> [YAML.Node] {
        (node.mapping?.pairs ?? []).filter { pair in
            RuleKeys.step.contains { $0.name == pair.name } && !declared.contains { $0.name == pair.name }
        }.map(\.key)
    }

    /// Reports arguments that are certain to fail at run time.
    private func check(
        _ tree: ArgumentCompiler.Tree, _ node: YAML.Node, of action: ActionManifest, _ reader: inout SettingsReader<RawArgument>
    ) {
        var known: JSON.Object = [:]
        for setting in action.arguments { known[setting.name] = tree[setting.name]?.json }
        reader.report(ArgumentReview(action: action, file: file).problems(of: .object(known), at: node))
        if let place = node["to"], let names = place.items {
            if names.isEmpty, action.receiver == .named {
                reader.report(
                    code: "wrong-type", "`to` names no connection", at: place, help: "name a connection, or a list of connections"
                )
            }
            for (index, name) in names.enumerated() where names[..<index].contains(where: { $0.scalarText == name.scalarText }) {
                reader.report(
                    code: "duplicate-receiver", "`\(name.scalarText ?? "")` is named twice", at: name, help: "delete one")
            }
        }
        if case .local(let argument?) = action.receiver, let place = node[argument], let path = tree[argument] {
            checkFile(path, place, of: action, &reader)
        }
    }

    private mutating func receivers(
        of action: ActionManifest, _ tree: ArgumentCompiler.Tree, _ pair: Mapping.Pair
    ) -> Step.Receivers? {
        let names = (tree["to"]?.json.map { Settings(["to": $0]).texts("to") } ?? []).unique()
        switch action.receiver {
        case .taskConnection: return .taskConnection
        case .local(let argument): return .argument(argument)
        case .namedOrAddress where names.isEmpty:
            if pair.value["to"] == nil, pair.value["url"] == nil {
                return refuse("missing-key", "`\(action.kind)` needs `to` or `url`", at: pair.key)
            }
            return .argument("url")
        case .named, .namedOrAddress:
            guard let node = pair.value["to"] else { return nil }
            return check(names, takes: action, node) ? .named(names) : nil
        }
    }

    /// Whether an action can go to all of these connections.
    private mutating func check(_ names: [String], takes action: ActionManifest, _ node: YAML.Node) -> Bool {
        if let template = names.first(where: TemplateText.isTemplate) {
            report(
                "template-as-name", "`\(template)` is a template, but `to` takes names", at: node,
                help: "write one step for each connection, and choose between them with `if`")
            return false
        }
        guard !context.isOpen else { return true }
        let receivers = context.connections.filter { $0.actions.contains(action.kind) }.map(\.name)
        var isValid = true
        for name in names where !receivers.contains(name) {
            let place = node.items?.first { $0.scalarText == name } ?? node
            let isOther = context.connections.contains { $0.name == name }
            let what = action.isMessage ? "messages" : "`\(action.kind)`"
            let message = isOther ? "connection `\(name)` takes no \(what)" : "there is no connection `\(name)`"
            let listing =
                receivers.isEmpty
                ? "bellhop.yaml has no connection that takes \(what)"
                : "use " + receivers.quotedList
            report(
                isOther ? "wrong-connection" : "unknown-connection", message, at: place,
                help: name.hasPrefix("#")
                    ? "`to` names a connection, not a channel: \(listing)"
                    : Suggestion.didYouMean(name, among: receivers) ?? listing)
            isValid = false
        }
        return isValid
    }

    private mutating func content(
        _ action: ActionManifest, _ tree: ArgumentCompiler.Tree, _ pair: Mapping.Pair
    ) -> Step.Content? {
        if action.isMessage {
            var reader = MessageReader(rule: rule, compiler: compiler)
            defer { compiler = reader.compiler }
            return reader.read(tree, pair.value).map(Step.Content.message)
        }
        guard case .members(let members) = tree else { return .values([]) }
        var values: [(name: String, value: ArgumentTemplate)] = []
        var isWhole = true
        for member in members where member.name != "to" && !(member.name == "task" && action.effect == .writes) {
            if let value = ArgumentCompiler.compile(member.value, with: &compiler) {
                values.append((member.name, value))
            } else {
                isWhole = false
            }
        }
        return isWhole ? .values(values) : nil
    }

    private static func retry(_ settings: Settings, of action: ActionManifest) -> RetryPolicy {
        var policy = action.retry
        if let attempts = settings.integer("retry") { policy.attempts = attempts }
        if let record = settings.record("retry") {
            policy.attempts = record.integer("attempts") ?? policy.attempts
            policy.base = record.duration("wait") ?? policy.base
            policy.cap = record.duration("max_wait") ?? policy.cap
        }
        return policy
    }
}
