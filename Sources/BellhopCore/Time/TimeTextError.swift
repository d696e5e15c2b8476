/// What is wrong with a duration, a schedule or hours that someone wrote, where, and what to write instead.
public struct TimeTextError: Error, Sendable, Hashable {
    /// What is wrong, as a clause without a full stop.
    public var message: String
    /// Where it begins: UTF-8 bytes from the start of the text.
    public var offset: Int
    /// How many UTF-8 bytes it is long; 0 at the end of a text that lacks something.
    public var length: Int
    /// What to write instead, or what is allowed; nil where nothing useful can be said.
    public var help: String?

    public init(_ message: String, offset: Int, length: Int, help: String? = nil) {
        self.message = message
        self.offset = offset
        self.length = length
        self.help = help
    }
}

extension TimeTextError: CustomStringConvertible {
    /// The message and the help: `a duration needs a unit: 30s?`.
    public var description: String {
        if let help { "\(message): \(help)" } else { message }
    }
}
