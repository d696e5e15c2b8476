extension String {
    /// The most bytes of an external text in a log line.
    public static let mostQuoted = 1000

    /// The text for a log line. A long text is truncated, with its length added.
    public var quoted: String {
        guard utf8.count > Self.mostQuoted else { return self }
        var end = utf8.index(startIndex, offsetBy: Self.mostQuoted)
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return "\(self[..<end])… (\(utf8.count) bytes)"
    }
}
