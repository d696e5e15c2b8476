/// A fault of a YAML text: where it is, what it is, and the way out.
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

    /// The line at fault as it should read, without its line break; several lines where one cannot be enough. A text with it
    /// in place of the faulty lines has been read again and has no fault there.
    public var mended: String?

    public var note: Note?

    /// Where the thing begins that libyaml could not finish; nil for all other faults.
    var context: Position?

    /// Whether nothing behind the fault was read.
    var isFatal = false

    init(_ code: Code, _ message: String, at range: SourceRange, help: String? = nil, mended: String? = nil, note: Note? = nil) {
        self.code = code
        self.message = message
        self.range = range
        self.help = help
        self.mended = mended
        self.note = note
    }

    public var position: Position { range.start }
}

/// All that is wrong with a text, in the order of places. Never empty.
public struct YAMLErrors: Error, Sendable, Hashable {
    public let errors: [YAMLError]
}
