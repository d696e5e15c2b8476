import BellhopCore
import CEL
import YAML

/// Builds the template of a message from the arguments of a `notify`.
struct MessageReader: ProblemCollector {
    let rule: String
    var compiler: ExpressionCompiler
    var file: String { compiler.file }
    var problems: Diagnostics {
        get { compiler.problems }
        set { compiler.problems = newValue }
    }

    mutating func read(_ tree: ArgumentCompiler.Tree, _ node: YAML.Node) -> MessageTemplate? {
        let before = problems.errorCount
        var message = MessageTemplate(own: read(section: tree, node))
        message.sections = read(sections: tree["sections"], node["sections"] ?? node)
        message.skipsEmpty = tree["skip_empty"]?.json == true
        message.severity = tree["severity"].flatMap { ArgumentCompiler.compile($0, with: &compiler) }
        message.link = read(link: tree["link"])
        message.mentions = tree["mentions"].flatMap { ArgumentCompiler.compile($0, with: &compiler) }
        message.thread = ArgumentCompiler.text(tree["thread"], with: &compiler)
        message.update = tree["update"].flatMap { ArgumentCompiler.compile($0, with: &compiler) }
        message.resolve = tree["resolve"].flatMap { ArgumentCompiler.compile($0, with: &compiler) }
        message.staysOpen = node["resolve"]?.scalarText == "false"
        if problems.errorCount == before { checkParts(of: message, tree, node) }
        return problems.errorCount == before ? message : nil
    }

    /// Refuses empty messages, and settings that have no effect without another setting.
    private mutating func checkParts(of message: MessageTemplate, _ tree: ArgumentCompiler.Tree, _ node: YAML.Node) {
        // A key with a mistake is reported itself: it may be a misspelled `title`.
        let isRead = node.mapping?.allSatisfy { tree[$0.name] != nil } ?? false
        if isRead, ["title", "text", "list"].allSatisfy({ tree[$0] == nil }), message.sections.isEmpty {
            report("missing-key", "this message is empty", at: node, help: "give it a `title` or a `text`")
        }
        if message.skipsEmpty, message.own.list == nil, message.sections.allSatisfy({ $0.list == nil }) {
            report(
                "missing-key", "`skip_empty` needs a list: this message has none", at: node["skip_empty"] ?? node,
                help: "add a `list`, or delete `skip_empty`")
        }
        for name in ["update", "resolve"] where tree[name] != nil && tree[name]?.json != false && message.thread == nil {
            report(
                "missing-key", "`\(name)` needs a `thread`, which says which message it is about", at: node[name] ?? node,
                help: "add, for example, `thread: \"${{ task.id }}\"` here and to the message that comes first")
        }
    }

    private mutating func read(sections tree: ArgumentCompiler.Tree?, _ node: YAML.Node) -> [MessageTemplate.Section] {
        let trees: [ArgumentCompiler.Tree]
        switch tree {
        case .list(let items)?: trees = items
        case .value(.array(let items))?: trees = items.map(ArgumentCompiler.Tree.value)
        case .deferred(let raw)?:
            report("wrong-type", "`sections` must be a list of parts with `title`, `text`, `list`, `fields`", at: raw.node)
            return []
        case .value?, .members?, nil: return []
        }
        var sections: [MessageTemplate.Section] = []
        for (place, tree) in trees.enumerated() {
            let items = node.items ?? []
            sections.append(read(section: tree, items.indices.contains(place) ? items[place] : node))
        }
        return sections
    }

    private mutating func read(section tree: ArgumentCompiler.Tree, _ node: YAML.Node) -> MessageTemplate.Section {
        var section = MessageTemplate.Section()
        section.title = ArgumentCompiler.text(tree["title"], with: &compiler) ?? section.title
        section.text = ArgumentCompiler.markdown(tree["text"], with: &compiler)
        if let list = tree["list"] { section.list = read(list: list, node["list"] ?? node) }
        if case .members(let fields)? = tree["fields"] {
            for field in fields {
                if let value = ArgumentCompiler.text(field.value, with: &compiler) { section.fields.append((field.name, value)) }
            }
        } else if case .value(.object(let fields))? = tree["fields"] {
            section.fields = fields.map { ($0.key, TextTemplate(pieces: [.text($0.value.plainText)])) }
        } else if case .deferred(let raw)? = tree["fields"] {
            report("wrong-type", "`fields` must be a mapping of names to texts", at: raw.node)
        }
        return section
    }

    /// `link: https://…`, or `{label, address}`.
    private mutating func read(link tree: ArgumentCompiler.Tree?) -> MessageTemplate.Link? {
        guard let tree else { return nil }
        if let address = tree["address"] ?? tree["url"] {
            let label = tree["label"] ?? tree["text"]
            return ArgumentCompiler.text(address, with: &compiler).map {
                MessageTemplate.Link(label: ArgumentCompiler.text(label, with: &compiler), address: $0)
            }
        }
        return ArgumentCompiler.text(tree, with: &compiler).map { MessageTemplate.Link(label: nil, address: $0) }
    }

    private mutating func read(list tree: ArgumentCompiler.Tree, _ node: YAML.Node) -> MessageTemplate.List? {
        guard case .deferred(let raw)? = tree["of"],
            let (elements, expression) = compiler.compileFully(raw.node, "`of`")
        else { return nil }
        let type: CELType
        switch expression.type {
        case .list(let element): type = element
        case .dyn: type = .dyn
        default:
            return refuse("wrong-type", "`of` must be a list, but this is a \(expression.type)", at: raw.node)
        }
        let empty = ArgumentCompiler.markdown(tree["empty"], with: &compiler)
        guard let name = tree["as"]?.json?.asString else { return nil }
        guard Self.isName(name) else {
            return refuse(
                "wrong-value", "`\(name)` is not a valid name in expressions", at: node["as"] ?? node,
                help: "letters, digits and `_`")
        }
        let outer = compiler.names
        compiler.names.declare(element: name, type, scope: SlotReader.elementScope + rule)
        let item = ArgumentCompiler.markdown(tree["item"], with: &compiler)
        compiler.names = outer
        guard let item else { return nil }
        return MessageTemplate.List(
            elements: elements, item: item, most: tree["max"]?.json?.asInt.map { Int($0) }, empty: empty)
    }

    static func isName(_ text: String) -> Bool {
        FieldName.isValid(text) && !["true", "false", "null", "in"].contains(text)
    }
}
