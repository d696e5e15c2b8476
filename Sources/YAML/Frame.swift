/// A list or mapping being read.
struct Frame {
    enum Kind {
        case sequence
        case mapping

        var tag: Tag { self == .sequence ? .sequence : .mapping }
    }

    private enum Key {
        case none
        case good(Node, name: String)
        /// The key's error has been reported; the pair is left out.
        case bad
    }

    let kind: Kind
    let properties: Event.Properties
    let isFlow: Bool
    let start: Position

    /// The number of nodes in the stream before this one.
    let nodesBefore: Int

    /// The nesting depth of lists and mappings here, this one included.
    private(set) var height = 1

    /// The last node read, valid or not.
    private(set) var lastChild: Node?

    private var items: [Node] = []
    private var pairs: [Mapping.Pair] = []
    private var key = Key.none

    /// Where each name was first seen. Filled only if there are many pairs.
    private var index: [String: Int] = [:]

    init(_ kind: Kind, _ properties: Event.Properties, isFlow: Bool, start: Position, nodesBefore: Int) {
        self.kind = kind
        self.properties = properties
        self.isFlow = isFlow
        self.start = start
        self.nodesBefore = nodesBefore
    }

    var content: Node.Content {
        switch kind {
        case .sequence: .sequence(items)
        case .mapping: .mapping(Mapping(pairs: pairs))
        }
    }

    /// Adds the next element, key or value; returns its error, if any.
    mutating func add(_ node: Node, isBare: Bool, height: Int) -> YAMLError? {
        self.height = max(self.height, height + 1)
        defer { lastChild = node }
        guard kind == .mapping else {
            items.append(node)
            return nil
        }
        switch key {
        case .none: return begin(node)
        case .bad:
            key = .none
            return nil
        case .good(let keyNode, let name):
            key = .none
            if index.count > 0 || pairs.count >= 16 { remember(name) }
            pairs.append(Mapping.Pair(key: keyNode, value: node, name: name))
            return isBare ? missingColon(keyNode, node, name) : nil
        }
    }

    private mutating func begin(_ node: Node) -> YAMLError? {
        key = .bad
        let place = node.alias ?? node.range
        guard case .scalar(let scalar) = node.content else {
            let help = "a key is a single word or text; a `{` or `[` that begins a text needs quotes around the whole text"
            return YAMLError(.keyNotText, "\(node.kind) cannot be a key", at: place, help: help)
        }
        if scalar.style == .plain && scalar.text.isEmpty {
            return YAMLError(.emptyKey, "a key is missing", at: place, help: "write the key before the colon")
        }
        if scalar.style == .plain && scalar.text == "<<" {
            let help = "write the keys out, or repeat a whole value with `&name` and `*name`"
            return YAMLError(.mergeKey, "merge keys (`<<`) are not part of YAML 1.2", at: place, help: help)
        }
        if let first = first(named: scalar.text) {
            let note = YAMLError.Note(range: first.key.alias ?? first.key.range, message: "`\(scalar.text)` is already used here")
            return YAMLError(.duplicateKey, "the key `\(scalar.text)` occurs twice", at: place, help: "delete one", note: note)
        }
        key = .good(node, name: scalar.text)
        return nil
    }

    private func first(named name: String) -> Mapping.Pair? {
        index.isEmpty ? pairs.first { $0.name == name } : index[name].map { pairs[$0] }
    }

    private mutating func remember(_ name: String) {
        if index.isEmpty { for (position, pair) in pairs.enumerated() { index[pair.name] = position } }
        index[name] = pairs.count
    }

    /// The error for a key without a colon, which YAML reads as a key without a value: `world` in `{to: ops, text: Hello, world}`.
    private func missingColon(_ key: Node, _ value: Node, _ name: String) -> YAMLError? {
        guard isFlow, value.range.start == value.range.end, key.alias == nil, value.scalarText == "" else { return nil }
        guard value.source.byteAfterSpace(key.range.end.offset) != ASCII.colon else { return nil }
        let message = "`\(name)` has no colon after it, so it is a key without a value"
        let help = "a text with a comma needs quotes between `{` and `}`"
        return YAMLError(.commaInFlow, message, at: key.range, help: help)
    }
}
