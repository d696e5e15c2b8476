/// Reads digits and letters at fixed positions of a text's bytes.
enum TimeReader {
    /// The number with this many digits at a position; nil if they are not all digits or the text ends before.
    static func number(_ bytes: Span<UInt8>, at start: Int, digits: Int) -> Int? {
        guard start >= 0, digits > 0, start + digits <= bytes.count else { return nil }
        var value = 0
        for index in start..<(start + digits) {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value * 10 + Int(digit)
        }
        return value
    }

    /// The number in a text that consists of this many digits; nil for any other text.
    static func number(_ text: String, digits: ClosedRange<Int>) -> Int? {
        let bytes = text.utf8Span.span
        return digits.contains(bytes.count) ? number(bytes, at: 0, digits: bytes.count) : nil
    }

    /// Parses a text as `hh:mm:ss`; nil if invalid. Second 60 is allowed.
    static func time(_ text: String) -> (hour: Int, minute: Int, second: Int)? {
        let bytes = text.utf8Span.span
        return bytes.count == 8 ? time(bytes, at: 0) : nil
    }

    /// Whether the byte at a position is this one.
    static func has(_ scalar: Unicode.Scalar, in bytes: Span<UInt8>, at index: Int) -> Bool {
        index < bytes.count && UInt32(bytes[index]) == scalar.value
    }

    /// The number of digits from a position on.
    static func digits(_ bytes: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while index < bytes.count, bytes[index] &- UInt8(ascii: "0") < 10 { index += 1 }
        return index - start
    }

    /// The `hh:mm:ss` at a position; nil if invalid. Second 60 is allowed.
    static func time(_ bytes: Span<UInt8>, at start: Int) -> (hour: Int, minute: Int, second: Int)? {
        guard let hour = number(bytes, at: start, digits: 2), hour < 24, has(":", in: bytes, at: start + 2),
            let minute = number(bytes, at: start + 3, digits: 2), minute < 60, has(":", in: bytes, at: start + 5),
            let second = number(bytes, at: start + 6, digits: 2), second <= 60
        else { return nil }
        return (hour, minute, second)
    }

    /// The `yyyy-mm-dd` at a position; nil if invalid.
    static func date(_ bytes: Span<UInt8>, at start: Int) -> CivilDate? {
        guard let year = number(bytes, at: start, digits: 4), has("-", in: bytes, at: start + 4),
            let month = number(bytes, at: start + 5, digits: 2), has("-", in: bytes, at: start + 7),
            let day = number(bytes, at: start + 8, digits: 2)
        else { return nil }
        return CivilDate(year: year, month: month, day: day)
    }
}

/// An error in a duration, a schedule or hours: what is wrong, where, and what to write instead.
public struct TimeTextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, without a full stop.
    public var message: String
    /// Where it begins: UTF-8 bytes from the start of the text.
    public var offset: Int
    /// Its length in UTF-8 bytes; 0 at the end of an incomplete text.
    public var length: Int
    /// What to write instead, or what is allowed; nil if unknown.
    public var help: String?

    public init(_ message: String, offset: Int, length: Int, help: String? = nil) {
        (self.message, self.offset, self.length, self.help) = (message, offset, length, help)
    }

    /// The message and the help: `a duration needs a unit: did you mean 30s?`.
    public var description: String { if let help { "\(message): \(help)" } else { message } }
}
