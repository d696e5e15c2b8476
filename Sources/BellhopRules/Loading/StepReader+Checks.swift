import BellhopCore
import YAML

extension ActionManifest {
    /// The argument whose value is the whole node, as in `log: text`; nil if the node names its arguments.
    func shorthand(for node: YAML.Node) -> Setting? {
        guard let setting = arguments.first(where: { $0.name == shorthand }) else { return nil }
        guard case .map = setting.type else { return node.scalar == nil ? nil : setting }
        guard let mapping = node.mapping else { return nil }
        let named = RuleKeys.arguments(of: self).map(\.name)
        return mapping.contains { named.contains($0.name) } ? nil : setting
    }
}

extension StepReader {
    /// Warns about an address whose host comes from a value, such as a ticket's text.
    mutating func warnOfComputedHost(at place: YAML.Node) {
        warn(
            "computed-host",
            "a value determines the host, so private addresses and unusual ports are refused; behind a `proxy`, every host name is refused",
            at: place,
            help:
                "write the host in the rule; if it must be computed and is your own, set `allow_private: true`, here or on the connection in `to`, "
                + "whose `ports` allow more ports of public hosts")
    }

    /// Step names must be unique: deliveries and logs use them.
    mutating func checkNames(of steps: [YAML.Node]) {
        for place in steps.compactMap({ $0.mapping?["name"]?.value }) {
            guard let name = place.scalarText, !names.insert(name).inserted else { continue }
            report(
                "duplicate-step", "two steps of this rule have the name `\(name)`", at: place,
                help: "give each step its own name")
        }
    }

    /// The keys of a mapping are literal: a template there would be sent unexpanded.
    mutating func refuseTemplatesAsKeys(in node: YAML.Node) {
        for pair in node.mapping?.pairs ?? [] {
            if TemplateText.isTemplate(pair.name) {
                report(
                    "template-as-key", "a template cannot be a name in a mapping: `\(pair.name)`", at: pair.key,
                    help: "compute the whole mapping: `${{ {name: value} }}`")
            }
            refuseTemplatesAsKeys(in: pair.value)
        }
        for item in node.items ?? [] { refuseTemplatesAsKeys(in: item) }
    }

    /// Checks the path of a file to write: all of a literal path, only the folder of a computed one.
    func checkFile(
        _ tree: ArgumentCompiler.Tree, _ place: YAML.Node, of action: ActionManifest, _ reader: inout SettingsReader<RawArgument>
    ) {
        let (path, shown): (String, String)
        var ends: [String] = []
        if case .deferred(let raw) = tree {
            guard let template = try? TemplateText(raw.text) else { return }  // reported when compiled
            if let range = FileName.inFolder(template) {
                reader.report(
                    Diagnostic(
                        code: "computed-folder", "the folder of a file cannot contain a template; only the file's name can",
                        at: Diagnostic.Place(raw.node, utf8: range, file: compiler.file),
                        help: "such as `logs/${{ task.number }}.log`"))
                return
            }
            let samples = FileName.samples(template)
            (path, shown) = (samples[0], raw.text)
            ends = Array(samples[1...])
        } else {
            guard let text = tree.json?.asString else { return }
            (path, shown) = (text, text)
        }
        if PathText.steps(of: path).contains("..") {
            reader.report(
                code: "wrong-value", "the path of a file that `\(action.kind)` writes must not contain `..`", at: place,
                help: "the path is relative to the folder of bellhop.yaml; `log_folders` there can list other folders")
        } else if path.hasSuffix("/") || path.utf8.contains(0) {
            reader.report(
                code: "wrong-value", "this path does not name a file", at: place,
                help: "write, for example, `\(path.filter { $0 != "\0" })bellhop.log`")
        } else if let reason = context.fileRefusal(path) {
            reader.report(
                code: "wrong-file", "`\(shown)` is not a place for a log: \(reason)", at: place,
                help: "write a path below the folder of bellhop.yaml, such as `logs/bellhop.log`")
        } else if let reason = ends.lazy.compactMap(context.fileRefusal).first {
            reader.report(
                code: "wrong-file", "a value can make this an invalid place for a log: \(reason)", at: place,
                help: "write the end of the name in the rule, such as `.log`, or another folder")
        }
    }

    /// Warns about parts of a message that some receivers ignore.
    mutating func checkAbilities(_ node: YAML.Node, _ receivers: Step.Receivers?) {
        guard case .named(let names)? = receivers, let mapping = node.mapping else { return }
        let named = context.connections.filter { names.contains($0.name) }
        func warn(_ key: String, _ lacking: String, _ effect: String, unless isAble: (MessageAbilities) -> Bool) {
            guard let place = mapping[key] else { return }
            for alike in Self.byKind(named.filter { !isAble($0.messages) }) {
                let line = alike[0].messages.line(for: key)
                let reason = line.map { "support them only with `\($0)` in bellhop.yaml" } ?? "do not support them"
                self.warn(
                    "unused-\(key)",
                    "\(alike.map(\.name).listed) \(alike.count == 1 ? "has" : "have") no \(lacking): "
                        + "connections of kind `\(alike[0].kind)` \(reason)", at: place.key, help: effect)
            }
        }
        warn("thread", "threads", "the message is sent there without a thread") {
            $0.threads == .yes || $0.updates == .yes || $0.resolves == .yes
        }
        warn("update", "updates of messages", "a new message is sent there") { $0.updates == .yes }
        warn("mentions", "mentions", "the message is sent there without them") { $0.mentions == .yes }
        if let mentions = mapping["mentions"]?.value { checkMentions(mentions, named.filter { $0.messages.mentions == .yes }) }
    }

    /// Warns about written mentions that a receiver leaves out, because they are not in its own form.
    private mutating func checkMentions(_ node: YAML.Node, _ receivers: [RuleContext.ConnectionFacts]) {
        for pair in (node.items ?? [node]).flatMap({ $0.mapping?.pairs ?? [] }) {
            guard let id = pair.value.scalarText, !id.isEmpty, !pair.value.isNull, !TemplateText.isTemplate(id),
                let mention = ["user": Message.Mention.user(id), "group": .group(id)][pair.name]
            else { continue }
            for alike in Self.byKind(receivers.filter { !context.canMention(mention, $0.kind) }) {
                let messages = alike[0].messages
                let reason = pair.name == "group" && !messages.mentionsGroups ? "cannot mention groups" : "need another form"
                warn(
                    "unknown-mention",
                    "\(alike.map(\.name).listed) cannot mention the \(pair.name) `\(id)`: "
                        + "connections of kind `\(alike[0].kind)` \(reason)", at: pair.value, help: messages.mentionForms)
            }
        }
    }

    /// The connections of each kind: they share one warning, because the help depends on the kind.
    private static func byKind(_ connections: [RuleContext.ConnectionFacts]) -> [[RuleContext.ConnectionFacts]] {
        connections.map(\.kind).unique().map { kind in connections.filter { $0.kind == kind } }
    }

    /// The arguments of an action; `data` of an event has the members that its type declares.
    func settings(of action: ActionManifest, _ node: YAML.Node) -> [Setting] {
        var settings = RuleKeys.arguments(of: action)
        guard action.emitsEvent, let name = (node["type"] ?? node).scalarText,
            let definition = context.events[EventType(name)], definition.origin == .outside,
            let data = settings.firstIndex(where: { $0.name == "data" })
        else { return settings }
        settings[data].type = .record(definition.members)
        return settings
    }

    /// Refuses events that bellhop.yaml does not declare, and data whose members cannot be checked.
    mutating func checkEmitted(_ node: YAML.Node) {
        // Other values that are not mappings are refused when they are read.
        if let data = node["data"], let text = data.scalarText, (try? TemplateText(text))?.whole != nil {
            report(
                "wrong-type", "`data` must be a mapping of the event's members, not \(data.kind)", at: data,
                help: "such as `{name: \"${{ task.number }}\"}`")
        }
        guard let place = node["type"] ?? (node.scalar == nil ? nil : node), let name = place.scalarText, !name.isEmpty else {
            return
        }
        let definition = context.events[EventType(name)]
        if definition?.origin == .outside { return }
        let declared = context.events.definitions.filter { $0.origin == .outside }.map(\.type.name)
        let listing =
            declared.isEmpty
            ? "declare it under `events` in bellhop.yaml" : "use " + declared.quotedList
        if definition != nil {
            report("known-event", "a rule cannot emit `\(name)`, an event of Bellhop itself", at: place, help: listing)
        } else {
            report(
                "unknown-event", "no event `\(name)` is declared", at: place,
                help: Suggestion.didYouMean(name, among: declared) ?? listing)
        }
    }

    /// Refuses a command line in one text, and a program that a value determines.
    mutating func checkProgram(_ node: YAML.Node, _ argument: String) {
        if let text = node.scalarText, text.contains(" ") {
            let words = Self.words(of: text).joined(separator: ", ")
            return report(
                "wrong-type", "`\(argument)` must be a list of words, because no shell splits the text", at: node,
                help: "write `\(argument): [\(words)]`")
        }
        let first = node.items?.first ?? node
        guard let program = first.scalarText else {
            if node.items?.isEmpty == true { report("wrong-type", "`\(argument)` names no program", at: node) }
            return
        }
        if TemplateText.isTemplate(program) {
            report(
                "computed-program", "the program must be literal; values may only be in its arguments", at: first,
                help: "write one step for each program, and choose between them with `if`")
        } else if program.isEmpty {
            report("wrong-type", "`\(argument)` names no program", at: first)
        }
    }

    /// The words of a command line, as items of a YAML list; a template is one word.
    private static func words(of text: String) -> [String] {
        var words: [String] = []
        var rest = Substring(text)
        var word = ""
        while let first = rest.first {
            if rest.hasPrefix("${{") {
                let end = rest.firstRange(of: "}}")?.upperBound ?? rest.endIndex
                word += rest[..<end]
                rest = rest[end...]
            } else {
                if first != " " { word.append(first) }
                rest = rest.dropFirst()
            }
            if rest.first ?? " " == " ", !word.isEmpty {
                words.append(word.contains("${{") ? "\"\(word.replacing("\"", with: "'"))\"" : word)
                word = ""
            }
        }
        return words
    }

    /// Refuses an action that needs a permission which bellhop.yaml does not give.
    mutating func checkPermission(of action: ActionManifest, _ pair: Mapping.Pair) {
        guard let setting = action.permission, !context.isOpen, !context.permissions.contains(setting) else { return }
        report(
            "not-allowed", "`\(action.kind)` is off unless bellhop.yaml allows it", at: pair.key,
            help: "write `\(setting): true` in bellhop.yaml")
    }

    /// Refuses an action that the connection of one of the rule's sources does not support.
    mutating func checkSources(of action: ActionManifest, _ pair: Mapping.Pair) {
        guard action.receiver == .taskConnection, !context.isOpen else { return }
        for source in sources {
            guard let connection = context.connections.first(where: { $0.name == source.connection }),
                !connection.actions.contains(action.kind)
            else { continue }
            let able = context.sources.filter { other in
                context.connections.contains { $0.name == other.connection && $0.actions.contains(action.kind) }
            }
            let names = able.map(\.name).quotedList
            return report(
                "wrong-connection",
                "`\(action.kind)` is not possible for the tasks of `\(source.name)`: connection `\(connection.name)` does not support "
                    + "`\(action.kind)`", at: pair.key,
                help: names.isEmpty
                    ? "connections of kind \(connection.kind) do not support it" : "these sources support it: \(names)")
        }
    }
}
