import BellhopConnectors
import BellhopCore
import YAML

/// A walk through bellhop.yaml for the lines on which a secret may stand, by what the kinds of connection and source declare.
struct SecretSearch {
    /// The lines, each with the texts for whose sake it is hidden.
    private(set) var lines: [Int: Set<String>] = [:]

    mutating func look(throughFile root: Node) {
        guard let mapping = root.mapping else { return look(at: root, as: []) }
        for pair in mapping {
            lookAtKey(pair)
            switch pair.name {
            case "connections":
                let kinds = Catalogue.connections.map { ($0.kind, $0.settings) }
                look(throughEntries: pair.value, ConfigurationManifest.connection, kinds)
            case "sources":
                let kinds = Catalogue.sources.map { ($0.kind, $0.settings) }
                look(throughEntries: pair.value, ConfigurationManifest.source, kinds)
            case "secrets": look(at: pair.value, as: [Self.stores])
            default: look(at: pair.value, as: SettingType.record(ConfigurationManifest.root).types(of: pair.name))
            }
        }
    }

    /// What may be written under `secrets`. A command may carry a password of its own.
    private static let stores = SettingType.list(
        .either([
            .oneOf(["keychain"]),
            .record([Setting("folder", .path, "One file per secret."), Setting("command", .list(.secret), "Prints one.")]),
        ]))

    /// Connections or sources. Where the kind of one is unknown, a setting is what any kind says that it is.
    private mutating func look(
        throughEntries node: Node, _ every: [Setting], _ kinds: [(kind: String, settings: [Setting])]
    ) {
        guard let mapping = node.mapping else { return look(at: node, as: []) }
        for pair in mapping {
            lookAtKey(pair)
            let kind = pair.value["kind"]?.scalarText
            let known = kinds.filter { $0.kind == kind }
            look(at: pair.value, as: (known.isEmpty ? kinds : known).map { SettingType.record(every + $0.settings) })
        }
    }

    /// - Parameter types: what the value may be; none where nobody declares it.
    private mutating func look(at node: Node, as types: [SettingType]) {
        // Where a secret belongs, or nobody says what does, a key may be one as well.
        if node.scalar == nil, types.isEmpty || types.contains(where: \.isSecret) { return hide(node) }
        switch node.content {
        case .scalar(let scalar):
            // Where a secret has no value, what was meant for it may stand beside: as an anchor, a tag or a comment.
            let isMissing = scalar.value == .null && types.contains(where: \.isSecret)
            if isMissing || !Self.isOpen(scalar, types) { hide(node) }
        case .sequence(let items):
            for item in items { look(at: item, as: types.flatMap(\.elements)) }
        case .mapping(let mapping):
            for pair in mapping {
                lookAtKey(pair)
                look(at: pair.value, as: types.flatMap { $0.types(of: pair.name) })
            }
        }
    }

    /// A key that is no name has its value within: `password:x` without a blank.
    private mutating func lookAtKey(_ pair: Mapping.Pair) {
        if !Self.isName(pair.name) { hide(pair.key) }
    }

    private mutating func hide(_ node: Node) {
        let texts = Self.texts(in: node)
        for line in node.range.start.line...max(node.range.start.line, node.range.end.line) {
            lines[line, default: []].formUnion(texts.filter { !$0.isEmpty })
        }
    }

    private static func texts(in node: Node) -> Set<String> {
        switch node.content {
        // A message has a block without its last line break.
        case .scalar(let scalar): [scalar.text.hasSuffix("\n") ? String(scalar.text.dropLast()) : scalar.text]
        case .sequence(let items): items.reduce(into: []) { $0.formUnion(texts(in: $1)) }
        case .mapping(let mapping): mapping.reduce(into: []) { $0.formUnion(texts(in: $1.key).union(texts(in: $1.value))) }
        }
    }

    private static func isOpen(_ scalar: Scalar, _ types: [SettingType]) -> Bool {
        switch scalar.value {
        case .null, .bool: return true
        case .int, .float, .string: break
        }
        // A word that the format itself has is no secret, nor is what stands for one.
        if types.contains(where: { $0.names(scalar.text) }) { return true }
        switch Interpolation.parts(of: scalar.text) {
        case let parts where parts.count != 1: break
        case let parts:
            switch parts[0] {
            case .reference, .other: return true
            case .text, .open: break
            }
        }
        return !types.isEmpty && !types.contains(where: \.holdsSecret) && !isTelling(scalar.text)
    }

    // MARK: - Words

    /// A name as settings, connections, sources and fields have them, with dots between several.
    static func isName(_ text: some StringProtocol) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.allSatisfy { $0.properties.isAlphabetic || "0123456789_-.".unicodeScalars.contains($0) }
    }

    /// Whether an address or a path has more in it than a place: a name, a password, a query. It need not be a whole one.
    static func isTelling(_ text: some StringProtocol) -> Bool {
        text.contains("@") || text.contains("?")
    }
}

extension SettingType {
    /// Whether a value of this type may hold a secret.
    var holdsSecret: Bool {
        switch self {
        case .secret: true
        case .list(let element), .map(let element): element.holdsSecret
        case .record(let settings): settings.contains { $0.type.holdsSecret }
        case .either(let types): types.contains(where: \.holdsSecret)
        case .text, .scalar, .name, .integer, .boolean, .duration, .size, .rate, .oneOf, .address, .target, .path, .json,
            .markdown,
            .expression:
            false
        }
    }

    /// Whether a value of this type is a secret, or a list of such.
    var isSecret: Bool {
        switch self {
        case .secret: true
        case .list(let element): element.isSecret
        case .either(let types): types.allSatisfy(\.isSecret)
        case .text, .scalar, .name, .integer, .boolean, .duration, .size, .rate, .oneOf, .address, .target, .path, .map, .record,
            .json,
            .markdown, .expression:
            false
        }
    }

    /// The settings that may stand inside of it.
    var settings: [Setting] {
        switch self {
        case .record(let settings): settings
        case .list(let element), .map(let element): element.settings
        case .either(let types): types.flatMap(\.settings)
        case .text, .scalar, .secret, .name, .integer, .boolean, .duration, .size, .rate, .oneOf, .address, .target, .path, .json,
            .markdown,
            .expression:
            []
        }
    }

    /// Whether a text is one of the words that the type has.
    fileprivate func names(_ text: String) -> Bool {
        switch self {
        case .oneOf(let words): words.contains(text)
        case .either(let types): types.contains { $0.names(text) }
        case .text, .scalar, .secret, .name, .integer, .boolean, .duration, .size, .rate, .address, .target, .path, .list, .map,
            .record,
            .json, .markdown, .expression:
            false
        }
    }

    /// What an element of a list may be.
    fileprivate var elements: [SettingType] {
        switch self {
        case .list(let element): [element]
        case .either(let types): types.flatMap(\.elements)
        case .json: [.json]
        case .text, .scalar, .secret, .name, .integer, .boolean, .duration, .size, .rate, .oneOf, .address, .target, .path, .map,
            .record,
            .markdown, .expression:
            []
        }
    }

    /// What the value of a name inside of it may be; for a name that is misspelt, that of the one that is meant.
    fileprivate func types(of name: String) -> [SettingType] {
        switch self {
        case .record(let settings):
            let meant =
                settings.first { $0.name == name }
                ?? Suggestion.closest(to: name, among: settings.map(\.name)).flatMap { close in
                    settings.first { $0.name == close }
                }
            return meant.map { [$0.type] } ?? []
        case .map(let element): return element == .json && Redaction.isTelling(name) ? [] : [element]
        case .json: return Redaction.isTelling(name) ? [] : [.json]
        case .list(let element): return element.types(of: name)
        case .either(let types): return types.flatMap { $0.types(of: name) }
        case .text, .scalar, .secret, .name, .integer, .boolean, .duration, .size, .rate, .oneOf, .address, .target, .path,
            .markdown,
            .expression:
            return []
        }
    }
}
