public import BellhopCore
public import YAML

extension Diagnostic.Place {
    /// The place of a range; of a range over several lines, the part on its first.
    public init(_ range: SourceRange, in source: SourceText, file: String) {
        let line = source.line(range.start.line)
        let rest = line.unicodeScalars.count - (range.start.column - 1)
        self.init(
            file: file, line: range.start.line, column: range.start.column, length: range.columnsOnOneLine ?? max(1, rest),
            excerpt: line)
    }

    /// The place of a node: of a list or a mapping, its first line.
    public init(_ node: Node, file: String) { self.init(node.range, in: node.source, file: file) }

    /// The place of a range in a scalar's text, in UTF-8 bytes, with escapes, folds and block indentation taken into account.
    public init(_ node: Node, utf8 range: Range<Int>, file: String) {
        self.init(node.range(ofUTF8: range), in: node.source, file: file)
    }
}

extension Diagnostics {
    /// A text's YAML errors, with the corrected line if there is one.
    public init(_ errors: YAMLErrors, in source: SourceText, file: String) {
        self.init()
        for error in errors.errors { report(Diagnostic(error, in: source, file: file)) }
    }

    /// A single error.
    init(code: String, _ message: String, at place: Diagnostic.Place? = nil, help: String? = nil) {
        self.init([Diagnostic(code: code, message, at: place, help: help)])
    }

    /// Sorts what was reported from an index on into the order of the file.
    mutating func sort(from start: Int) {
        func place(_ diagnostic: Diagnostic) -> (Int, Int) { (diagnostic.place?.line ?? 0, diagnostic.place?.column ?? 0) }
        let sorted = all[start...].enumerated().sorted { one, other in
            let (first, second) = (place(one.element), place(other.element))
            return first != second ? first < second : one.offset < other.offset
        }
        all.replaceSubrange(start..., with: sorted.map(\.element))
    }
}

extension Diagnostic {
    public init(_ error: YAMLError, in source: SourceText, file: String) {
        var message = error.message
        if let note = error.note { message += " (\(note.message) in line \(note.range.start.line))" }
        let written = source.line(error.range.start.line).trimmedBlanks
        // If only the indentation was corrected, show it.
        let lines = error.corrected?.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) ?? []
        let corrected =
            lines.count == 1
            ? error.corrected.map { $0.trimmedBlanks == written ? "write `\($0)`" : "write: \($0.trimmedBlanks)" } : nil
        self.init(
            code: error.code.rawValue, message, at: Place(error.range, in: source, file: file),
            help: [error.help, corrected].compactMap(\.self).joined(separator: "; ").nonEmpty,
            corrected: lines.count > 1 ? lines : [])
    }
}
