/// A number with its noun: `1 task`, `2 tasks`.
/// - Parameter many: the plural; nil for the noun with an `s`.
public func counted(_ count: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
    "\(count) \(count == 1 ? one : many ?? one + "s")"
}

extension Int {
    /// A number that is not negative, with at least two digits: `05`.
    public var twoDigits: String { self < 10 ? "0\(self)" : "\(self)" }
}

extension UInt8 {
    public var isASCIIDigit: Bool { self &- UInt8(ascii: "0") < 10 }
    public var isASCIILetter: Bool { (self | 0x20) &- UInt8(ascii: "a") < 26 }
    public var isASCIIAlphanumeric: Bool { isASCIIDigit || isASCIILetter }
}

extension String {
    /// The text without blanks and line breaks at its ends.
    public var trimmedBlanks: String {
        var rest = Substring(self)
        while let first = rest.unicodeScalars.first, " \t\r\n".unicodeScalars.contains(first) {
            rest.unicodeScalars.removeFirst()
        }
        while let last = rest.unicodeScalars.last, " \t\r\n".unicodeScalars.contains(last) { rest.unicodeScalars.removeLast() }
        return String(rest)
    }
}
