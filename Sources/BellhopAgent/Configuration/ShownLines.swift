import BellhopConnectors
import BellhopCore
import YAML

/// Which lines of bellhop.yaml a message may show: those of which it is known that nobody must keep them to himself.
///
/// It is decided once, for the whole file, and every message about the file goes through it. What nobody declares counts as a secret:
/// the settings of a connection whose kind is unknown, keys that do not exist, names and passwords inside of an address.
struct ShownLines: Sendable {
    private enum Knowledge: Sendable {
        /// The file was read: the lines that are not shown.
        case read(hidden: Set<Int>)
        /// The file is no YAML: the names after which a value may be shown.
        case unread(SourceText, open: Set<String>)
    }

    private var knowledge: Knowledge

    /// Of a text that cannot be read as YAML.
    init(_ source: SourceText) { knowledge = .unread(source, open: Self.openNames) }

    init(_ root: Node) {
        var search = SecretSearch()
        search.look(throughFile: root)
        knowledge = .read(hidden: search.lines)
    }

    /// The message as it may be read by anybody.
    func shown(_ diagnostic: Diagnostic) -> Diagnostic {
        guard let place = diagnostic.place else { return diagnostic }
        var diagnostic = diagnostic
        diagnostic.place = shown(place)
        switch knowledge {
        case .read: break
        case .unread(let source, let open):
            let lines = [source.line(place.line)] + diagnostic.mended
            if lines.allSatisfy({ Self.isOpen($0, after: open) }) { break }
            // What mends a line repeats it, and so may the message.
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
        if case .read(let hidden) = knowledge, hidden.contains(place.line) {
            shown.excerpt = nil
        } else {
            shown.excerpt = place.excerpt.flatMap { Self.withoutComment($0, behind: place.column - 1 + place.length) }
        }
        return shown
    }

    /// A line without what is only said of it, which may be anything; nil where that is what is pointed at.
    private static func withoutComment(_ line: String, behind column: Int) -> String? {
        let scalars = Array(line.unicodeScalars)
        guard let hash = commentStart(scalars) else { return line }
        guard hash >= column else { return nil }
        var text = String(String.UnicodeScalarView(scalars[..<hash]))
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }

    /// Where ` #` begins a comment outside of quotes.
    private static func commentStart(_ line: [Unicode.Scalar]) -> Int? {
        var quote: Unicode.Scalar?
        for (place, scalar) in line.enumerated() {
            let before = place > 0 ? line[place - 1] : " "
            switch quote {
            case let open? where scalar == open && !(open == "\"" && before == "\\"): quote = nil
            case nil where (scalar == "\"" || scalar == "'") && !before.properties.isAlphabetic: quote = scalar
            case nil where scalar == "#" && (before == " " || before == "\t"): return place
            case nil, .some: break
            }
        }
        return nil
    }

    // MARK: - What is no YAML

    /// The names of settings that hold no secret wherever they are declared.
    private static let openNames: Set<String> = {
        var closed: Set<String> = []
        var all: Set<String> = ["connections", "sources"]
        func gather(_ settings: [Setting]) {
            for setting in settings {
                all.insert(setting.name)
                if setting.type.holdsSecret { closed.insert(setting.name) }
                gather(setting.type.settings)
            }
        }
        gather(ConfigurationManifest.root + ConfigurationManifest.connection + ConfigurationManifest.source)
        gather(Catalogue.connections.flatMap(\.settings) + Catalogue.sources.flatMap(\.settings))
        return all.subtracting(closed)
    }()

    /// Whether all that a line gives a value to is known to be open. A value without its name may go on a secret of the line above.
    private static func isOpen(_ line: String, after open: Set<String>) -> Bool {
        let parts = line.split { "{}[],".contains($0) }.map { $0.drop { " \t-".contains($0) } }
        return parts.allSatisfy { part in
            if part.allSatisfy({ " \t\r".contains($0) }) || part.first == "#" { return true }
            guard let colon = part.firstIndex(of: ":") else { return false }
            let value = part[part.index(after: colon)...].drop { " \t\r".contains($0) }
            if value.isEmpty { return SecretSearch.isName(part[..<colon]) }
            return open.contains(String(part[..<colon])) && !SecretSearch.isTelling(value)
        }
    }

    /// A message without the words between backticks that stand in a line.
    private static func masked(_ message: String, of line: String) -> String {
        let parts = message.split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { index, part in
            index.isMultiple(of: 2) || part.count < 3 || !line.contains(part) ? String(part) : "…"
        }.joined(separator: "`")
    }
}
