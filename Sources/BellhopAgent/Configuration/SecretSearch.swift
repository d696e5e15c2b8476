import BellhopConnectors
import BellhopCore
import YAML

/// Finds the lines of bellhop.yaml that may hold a secret, by the declarations of connection and source kinds.
struct SecretSearch {
    /// The lines to hide, each with the texts that make it secret.
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

    /// The entries of `secrets`. A command may contain a password.
    private static let stores = SettingType.list(
        .either([
            .oneOf(["keychain"]),
            .record([Setting("folder", .path, "One file per secret."), Setting("command", .list(.secret), "Prints one.")]),
        ]))

    /// Connections or sources. If a kind is unknown, the setting's types in all kinds apply.
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

    /// - Parameter types: the possible types of the value; empty if it is not declared.
    private mutating func look(at node: Node, as types: [SettingType]) {
        // For a secret or undeclared value, a key may be the secret too.
        if node.scalar == nil, types.isEmpty || types.contains(where: \.isSecret) { return hide(node) }
        switch node.content {
        case .scalar(let scalar):
            // A secret without a value may have been written as an anchor, a tag or a comment.
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

    /// A key that is not a name contains its value: `password:x` without a blank.
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
        // Messages show a block without its last line break.
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
        // The format's own words and placeholders for secrets are not secrets.
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

    /// Whether a text is a name of a setting, connection, source or field, or several joined by dots.
    static func isName(_ text: some StringProtocol) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.allSatisfy { $0.properties.isAlphabetic || "0123456789_-.".unicodeScalars.contains($0) }
    }

    /// Whether an address or a path, perhaps partial, contains more than a place: a name, a password, a query.
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

    /// The settings that it may contain.
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

    /// Whether a text is one of the type's words.
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

    /// The possible types of a list's elements.
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

    /// The possible types of a key inside it; a misspelt key counts as the key it resembles.
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
