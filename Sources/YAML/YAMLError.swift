/// An error in a YAML text: its place, its description, and how to fix it.
public struct YAMLError: Error, Sendable, Hashable {
    /// A second place that explains the first, such as the key that a duplicate repeats.
    public struct Note: Sendable, Hashable {
        public let range: SourceRange
        public let message: String
    }

    public let code: Code
    public let message: String
    public let range: SourceRange
    public var help: String?

    /// The corrected line, without its line break; several lines if needed. It is only set if the text, read again with this
    /// correction, has no error there.
    public var corrected: String?

    public var note: Note?

    /// The start of the construct that libyaml could not finish reading; nil for all other errors.
    var context: Position?

    /// Whether reading stopped at this error.
    var isFatal = false

    init(_ code: Code, _ message: String, at range: SourceRange, help: String? = nil, corrected: String? = nil, note: Note? = nil)
    {
        self.code = code
        self.message = message
        self.range = range
        self.help = help
        self.corrected = corrected
        self.note = note
    }

    public var position: Position { range.start }
}

/// All errors of a text, in text order. Never empty.
public struct YAMLErrors: Error, Sendable, Hashable {
    public let errors: [YAMLError]
}
