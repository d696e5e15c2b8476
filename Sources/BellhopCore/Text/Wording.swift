extension Int {
    /// A number that is not negative, with at least two digits: `05`.
    public var twoDigits: String { self < 10 ? "0\(self)" : "\(self)" }
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
