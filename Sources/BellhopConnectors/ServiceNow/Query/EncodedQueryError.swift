/// What is wrong with an encoded query, and where.
struct EncodedQueryError: Error, Sendable, Hashable {
    /// A sentence without a full stop.
    var message: String
    var help: String?
    /// The invalid part, in UTF-8 bytes of the text; may be empty.
    var range: Range<Int>

    var offset: Int { range.lowerBound }

    init(_ message: String, at range: Range<Int>, help: String? = nil) {
        self.message = message
        self.range = range
        self.help = help
    }
}
