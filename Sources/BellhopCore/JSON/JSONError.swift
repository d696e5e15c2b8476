/// Why bytes are not JSON, and where.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Reason: Sendable, Hashable {
        /// The text ends within a value, like a truncated body.
        case ended
        /// A byte that the grammar does not allow here.
        case unexpected(UInt8)
        /// Something follows the value.
        case trailing
        case notUTF8
        /// An unescaped control character in a string.
        case controlCharacter(UInt8)
        /// An invalid escape after a backslash.
        case escape
        /// A number that is not valid in JSON.
        case number
        /// Arrays and objects are nested deeper than this limit.
        case tooDeep(Int)
        /// There are more bytes than this limit.
        case tooLong(Int)
    }

    public var reason: Reason

    /// Where it is, in bytes from the start.
    public var offset: Int

    public init(_ reason: Reason, at offset: Int) { (self.reason, self.offset) = (reason, offset) }

    /// One sentence with the place.
    public var description: String { "invalid JSON at byte \(offset): \(problem)" }

    private var problem: String {
        switch reason {
        case .ended: "it ends in the middle of a value"
        case .unexpected(let byte): "\(Self.name(byte)) is not allowed here"
        case .trailing: "more text follows the value"
        case .notUTF8: "the text is not UTF-8"
        case .controlCharacter(let byte): "\(Self.name(byte)) must be escaped in a string"
        case .escape: "a backslash is followed by an unknown escape"
        case .number: "this is not a valid number"
        case .tooDeep(let limit): "arrays and objects are nested deeper than \(limit)"
        case .tooLong(let limit): "there are more than \(limit) bytes"
        }
    }

    private static func name(_ byte: UInt8) -> String {
        if (0x21...0x7e).contains(byte) { return "'\(Unicode.Scalar(byte))'" }
        let hex = String(byte, radix: 16)
        return "byte 0x\(hex.count == 1 ? "0" : "")\(hex)"
    }
}
