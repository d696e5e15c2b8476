import BellhopConnectors
import BellhopCore
import YAML

/// Decides which lines of bellhop.yaml messages may show: only those known to hold no secret.
///
/// Decided once for the whole file; every message about the file goes through it. Undeclared values count as secrets: settings of
/// a connection of unknown kind, unknown keys, names and passwords in an address.
struct ShownLines: Sendable {
    private enum Knowledge: Sendable {
        /// The file is valid YAML: the lines to hide, each with the texts that make it secret.
        case read(hidden: [Int: Set<String>])
        /// The file is not valid YAML: the names whose values may be shown.
        case unread(SourceText, open: Set<String>)
    }

    private var knowledge: Knowledge

    /// For a text that cannot be read as YAML.
    init(_ source: SourceText) { knowledge = .unread(source, open: Self.openNames) }

    init(_ root: Node) {
        var search = SecretSearch()
        search.look(throughFile: root)
        knowledge = .read(hidden: search.lines)
    }

    /// The message without secrets.
    func shown(_ diagnostic: Diagnostic) -> Diagnostic {
        guard let place = diagnostic.place else { return diagnostic }
        var diagnostic = diagnostic
        diagnostic.place = shown(place)
        diagnostic.mended = diagnostic.mended.compactMap { Self.withoutComment($0, behind: 0) }
        // The help repeats the corrected line, and the message may too.
        switch knowledge {
        case .read(let hidden):
            guard let texts = hidden[place.line] else { break }
            func masked(_ text: String) -> String { Redaction.scrub(text, of: Array(texts)) }
            diagnostic.message = masked(diagnostic.message)
            if let help = diagnostic.help, masked(help) != help { diagnostic.help = nil }
            if diagnostic.mended.contains(where: { masked($0) != $0 }) { diagnostic.mended = [] }
        case .unread(let source, let open):
            let lines = [source.line(place.line)] + diagnostic.mended
            if lines.allSatisfy({ Self.isOpen($0, after: open) }) {
                diagnostic.help = diagnostic.help.flatMap(Self.withoutComment)
                break
            }
            diagnostic.place?.excerpt = nil
            diagnostic.help = nil
            diagnostic.mended = []
            diagnostic.message = Self.masked(diagnostic.message, of: source.line(place.line))
        }
        return diagnostic
    }

    func shown(_ problems: Diagnostics) -> Diagnostics { Diagnostics(problems.all.map(shown)) }

    func shown(_ place: Diagnostic.Place) -> Diagnostic.Place {
        var shown = place
        if case .read(let hidden) = knowledge, hidden[place.line] != nil {
            shown.excerpt = nil
        } else {
            shown.excerpt = place.excerpt.flatMap { Self.withoutComment($0, behind: place.column - 1 + place.length) }
        }
        return shown
    }

    /// A line without its comment, which may contain anything; nil if the diagnostic points at the comment.
    private static func withoutComment(_ line: String, behind column: Int) -> String? {
        let scalars = Array(line.unicodeScalars)
        guard let hash = commentStart(scalars) else { return line }
        guard hash >= column else { return nil }
        var text = String(String.UnicodeScalarView(scalars[..<hash]))
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }

    /// The help; if it contains the corrected line, it ends with it.
    private static func withoutComment(_ help: String) -> String? {
        guard let text = withoutComment(help, behind: 0) else { return nil }
        return text.count { $0 == "`" }.isMultiple(of: 2) ? text : text + "`"
    }

    /// Where ` #` may begin a comment. Quotes are ignored: one line does not show which of them are real.
    private static func commentStart(_ line: [Unicode.Scalar]) -> Int? {
        line.indices.first { line[$0] == "#" && ($0 == 0 || line[$0 - 1] == " " || line[$0 - 1] == "\t") }
    }

    // MARK: - Invalid YAML

    /// Every setting declared anywhere in bellhop.yaml.
    private static let declared: [Setting] = {
        func all(_ settings: [Setting]) -> [Setting] { settings.flatMap { [$0] + all($0.type.settings) } }
        return all(ConfigurationManifest.root + ConfigurationManifest.connection + ConfigurationManifest.source)
            + all(Catalogue.connections.flatMap(\.settings) + Catalogue.sources.flatMap(\.settings))
    }()

    /// The names of settings that are secret in no declaration.
    private static let openNames: Set<String> = Set(["connections", "sources"] + declared.map(\.name))
        .subtracting(declared.filter(\.type.holdsSecret).map(\.name))

    /// The names of settings that are secret in some declaration.
    private static let secretNames = Set(declared.filter(\.type.isSecret).map(\.name))

    /// Whether every value on a line is known to be open. A value without a name may continue a secret from the line above.
    private static func isOpen(_ line: String, after open: Set<String>) -> Bool {
        let parts = line.split { "{}[],".contains($0) }.map { $0.drop { " \t-".contains($0) } }
        var isInSecret = false
        return parts.allSatisfy { part in
            if part.allSatisfy({ " \t\r".contains($0) }) || part.first == "#" { return true }
            guard !isInSecret, let colon = part.firstIndex(of: ":") else { return false }
            let value = part[part.index(after: colon)...].drop { " \t\r".contains($0) }
            // Braces where a secret belongs: an apparent key in them may be the secret.
            isInSecret = value.isEmpty && secretNames.contains(String(part[..<colon]))
            if value.isEmpty { return SecretSearch.isName(part[..<colon]) }
            return open.contains(String(part[..<colon])) && !SecretSearch.isTelling(value)
        }
    }

    /// A message without the words in backticks that occur in a line. An alias `*name` may occur there as its anchor `&name`.
    private static func masked(_ message: String, of line: String) -> String {
        let parts = message.split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { index, part in
            let isOwn = part.count < 3 || !(line.contains(part) || line.contains(part.dropFirst()))
            return index.isMultiple(of: 2) || isOwn ? String(part) : "…"
        }.joined(separator: "`")
    }
}
