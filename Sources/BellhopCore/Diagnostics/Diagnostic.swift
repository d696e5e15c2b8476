/// An error in something a user wrote: what, where, and how to fix it.
public struct Diagnostic: Error, Sendable, Hashable {
    public enum Severity: String, Sendable, Hashable { case error, warning }

    public var severity: Severity
    /// A kebab-case word for searching: `unknown-field`.
    public var code: String
    /// One sentence: what is wrong.
    public var message: String
    public var place: Place?
    /// What to do, short: ``did you mean `priority`?``
    public var help: String?
    /// The corrected lines, if they are the best help.
    public var corrected: [String]
    /// Explanations, one line each, shown below.
    public var details: [String]

    public init(
        _ severity: Severity = .error, code: String, _ message: String, at place: Place? = nil, help: String? = nil,
        corrected: [String] = [], details: [String] = []
    ) {
        self.severity = severity
        self.code = code
        self.message = message
        self.place = place
        self.help = help
        self.corrected = corrected
        self.details = details
    }

    /// A range within one line of a file.
    public struct Place: Sendable, Hashable {
        /// The path as the user would type it.
        public var file: String
        /// From 1.
        public var line: Int
        /// From 1, in Unicode scalars.
        public var column: Int
        /// In Unicode scalars, at least 1.
        public var length: Int
        /// The whole line, to be shown above the caret; nil if the file must not be shown (it may contain a secret).
        public var excerpt: String?

        public init(file: String, line: Int, column: Int, length: Int = 1, excerpt: String? = nil) {
            self.file = file
            self.line = line
            self.column = column
            self.length = max(1, length)
            self.excerpt = excerpt
        }

        /// The place of a range of a scalar's text, in UTF-8 bytes.
        public typealias InText = @Sendable (Range<Int>) -> Place
    }
}

/// All errors found in one pass.
public struct Diagnostics: Error, Sendable, Hashable {
    public var all: [Diagnostic]

    public init(_ all: [Diagnostic] = []) { self.all = all }

    public var hasErrors: Bool { all.contains { $0.severity == .error } }

    public var errorCount: Int { all.count { $0.severity == .error } }

    public mutating func report(_ diagnostic: Diagnostic) { all.append(diagnostic) }

    public mutating func report(_ others: Diagnostics) { all += others.all }
}
