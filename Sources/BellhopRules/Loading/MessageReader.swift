import BellhopCore
import CEL
import YAML

/// Builds the template of a message from the arguments of a `notify`.
struct MessageReader {
    let rule: String
    var compiler: ExpressionCompiler

    mutating func read(_ tree: ArgumentCompiler.Tree, _ node: YAML.Node) -> MessageTemplate? {
        let before = compiler.problems.count
        var message = MessageTemplate(title: TextTemplate(pieces: []))
        if tree["title"] != nil { message.title = ArgumentCompiler.text(tree["title"], with: &compiler) ?? message.title }
        message.text = ArgumentCompiler.markdown(tree["text"], with: &compiler)
        if let list = tree["list"] { message.list = read(list: list, node["list"] ?? node) }
        if case .members(let fields)? = tree["fields"] {
            for field in fields {
                if let value = ArgumentCompiler.text(field.value, with: &compiler) { message.fields.append((field.name, value)) }
            }
        } else if case .value(.object(let fields))? = tree["fields"] {
            message.fields = fields.map { ($0.key, TextTemplate(pieces: [.text($0.value.plainText)])) }
        } else if case .deferred(let raw)? = tree["fields"] {
            compiler.report(code: "wrong-type", "`fields` is a mapping of names to texts", at: raw.node)
        }
        message.severity = tree["severity"].flatMap { ArgumentCompiler.compile($0, with: &compiler) }
        message.thread = ArgumentCompiler.text(tree["thread"], with: &compiler)
        message.link = read(link: tree["link"])
        if message.title.pieces.isEmpty, message.text == nil, message.list == nil, compiler.problems.count == before,
            tree["title"] == nil
        {
            compiler.report(code: "missing-key", "this message is empty", at: node, help: "give it a `title` or a `text`")
        }
        return compiler.problems.count == before ? message : nil
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
            compiler.report(code: "wrong-type", "`of` is a list, and this is a \(expression.type)", at: raw.node)
            return nil
        }
        let empty = ArgumentCompiler.markdown(tree["empty"], with: &compiler)
        guard let name = tree["as"]?.json?.asString else { return nil }
        guard Self.isName(name) else {
            compiler.report(
                code: "wrong-value", "`\(name)` is not a valid name in expressions", at: node["as"] ?? node,
                help: "letters, digits and `_`")
            return nil
        }
        let outer = compiler.names
        compiler.names.declare(element: name, type, scope: SlotReader.elementScope + rule)
        let item = ArgumentCompiler.markdown(tree["item"], with: &compiler)
        compiler.names = outer
        guard let item else { return nil }
        return MessageTemplate.List(
            elements: elements, item: item, most: tree["max"]?.json?.asInt.map { Int($0) }, empty: empty)
    }

    /// Whether expressions can use the name.
    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, first == UInt8(ascii: "_") || (first | 0x20) &- UInt8(ascii: "a") < 26 else {
            return false
        }
        let reserved: Set<String> = ["true", "false", "null", "in"]
        return !reserved.contains(text)
            && text.utf8.allSatisfy {
                $0 == UInt8(ascii: "_") || ($0 | 0x20) &- UInt8(ascii: "a") < 26 || $0 &- UInt8(ascii: "0") < 10
            }
    }
}
