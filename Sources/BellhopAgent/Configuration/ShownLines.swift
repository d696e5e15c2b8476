import BellhopConnectors
import BellhopCore
import BellhopInbound
import BellhopRules
import YAML

/// Decides which lines of bellhop.yaml messages may show: only lines that cannot contain a secret.
///
/// The names decide, not the kind of a connection or a source: a line is hidden if a name on it is not the name of a setting, or is the
/// name of a setting that holds a secret in any kind. Also hidden are `secrets`, values with an `@` or a `?` (a login or a query of an
/// address), comments, and all lines of a file that is not valid YAML.
struct ShownLines: Sendable {
    private var hidden: Set<Int> = []

    init(_ root: Node) {
        // A file that is not a mapping has no settings.
        if root.mapping == nil { hide(root, root) }
        for pair in root.mapping?.pairs ?? [] {
            if ["connections", "sources", "events"].contains(pair.name) { checkEntries(pair) } else { look(at: pair) }
        }
    }

    private mutating func checkEntries(_ section: Mapping.Pair) {
        if section.value.isNull { return }
        guard let entries = section.value.mapping else { return hide(section.key, section.value) }
        for entry in entries {
            if entry.value.isNull, Interpolation.isName(entry.name) { continue }
            guard let settings = entry.value.mapping, Interpolation.isName(entry.name) else {
                hide(entry.key, entry.value)
                continue
            }
            for setting in settings { look(at: setting) }
        }
    }

    private mutating func look(at pair: Mapping.Pair) {
        guard let types = Self.types[pair.name] else { return hide(pair.key, pair.value) }
        if Self.isReference(pair.value) { return }
        let hasMembers = types.contains { if case .record = $0 { true } else { false } }
        if types.contains(where: \.holdsSecret) || hasMembers && pair.value.mapping == nil { return hide(pair.key, pair.value) }
        guard hasMembers else { return look(at: pair.value) }
        for inner in pair.value.mapping?.pairs ?? [] { look(at: inner) }
    }

    /// Looks at a value below a setting, where the user chooses the names.
    private mutating func look(at node: Node) {
        switch node.content {
        case .scalar(let scalar): if scalar.text.contains(where: { $0 == "@" || $0 == "?" }) { hide(node, node) }
        case .sequence(let items): for item in items { look(at: item) }
        case .mapping(let mapping):
            for pair in mapping {
                if Redaction.suggestsSecret(pair.name) { hide(pair.key, pair.value) } else { look(at: pair.value) }
            }
        }
    }

    private mutating func hide(_ first: Node, _ last: Node) {
        hidden.formUnion(first.range.start.line...max(first.range.end.line, last.range.end.line))
    }

    /// Whether a value is nothing but `${{ secret.NAME }}`.
    private static func isReference(_ node: Node) -> Bool {
        guard let parts = node.scalarText.map(Interpolation.parts), parts.count == 1 else { return false }
        if case .reference = parts[0] { return true }
        return false
    }

    /// The types of every setting of bellhop.yaml, by name.
    private static let types: [String: [SettingType]] = {
        var types: [String: [SettingType]] = [:]
        func add(_ settings: [Setting]) {
            for setting in settings {
                types[setting.name, default: []].append(setting.type)
                if case .record(let inner) = setting.type { add(inner) }
            }
        }
        add(ConfigurationManifest.root + ConfigurationManifest.connection + ConfigurationManifest.source)
        add(InboundSettings.webhook + InboundSettings.event)
        add(Catalogue.connections.flatMap(\.settings) + Catalogue.sources.flatMap(\.settings))
        return types
    }()

    func shown(_ place: Diagnostic.Place) -> Diagnostic.Place {
        var shown = place
        shown.excerpt = hidden.contains(place.line) ? nil : place.excerpt.flatMap { Self.withoutComment($0, of: place) }
        return shown
    }

    func shown(_ diagnostic: Diagnostic) -> Diagnostic {
        var diagnostic = diagnostic
        diagnostic.place = diagnostic.place.map(shown)
        return diagnostic
    }

    /// A line without its comment, which may contain anything; nil if the place may be in the comment.
    private static func withoutComment(_ line: String, of place: Diagnostic.Place) -> String? {
        guard let comment = line.firstRange(of: /(^|[ \t]+)#/) else { return line }
        let text = line[..<comment.lowerBound]
        return text.unicodeScalars.count < place.column - 1 + place.length ? nil : String(text)
    }

    /// The problems of a file that is not valid YAML, without its lines and words.
    static func problems(_ errors: YAMLErrors, in source: SourceText, file: String) -> Diagnostics {
        let text = String(decoding: source.bytes, as: UTF8.self)
        func masked(_ message: String) -> String {
            message.replacing(/`[@!&*]?([^`]{3,})`/) { quoted in
                text.contains(quoted.1) && types[String(quoted.1)] == nil ? "`…`" : String(quoted.0)
            }
        }
        return Diagnostics(
            errors.errors.map { error in
                var error = error
                error.corrected = nil
                var problem = Diagnostic(error, in: source, file: file)
                problem.place?.excerpt = nil
                problem.message = masked(problem.message)
                problem.help = problem.help.map(masked)
                return problem
            })
    }
}

extension SettingType {
    /// Whether the value itself may be a secret, or contain one below names that the user chooses.
    fileprivate var holdsSecret: Bool {
        switch self {
        case .secret: true
        case .list(let element), .map(let element): element.holdsSecret
        case .either(let types): types.contains(where: \.holdsSecret)
        case .text, .scalar, .name, .integer, .number, .boolean, .duration, .size, .rate, .oneOf, .address, .target, .path,
            .record, .json, .markdown, .expression:
            false
        }
    }
}
