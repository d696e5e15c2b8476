/// An error in a duration, a schedule or hours: what is wrong, where, and what to write instead.
public struct TimeTextError: Error, Sendable, Hashable {
    /// What is wrong, without a full stop.
    public var message: String
    /// Where it begins: UTF-8 bytes from the start of the text.
    public var offset: Int
    /// Its length in UTF-8 bytes; 0 at the end of an incomplete text.
    public var length: Int
    /// What to write instead, or what is allowed; nil if unknown.
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
