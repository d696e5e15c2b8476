extension String {
    /// The most bytes of a text of others in a log line.
    public static let mostQuoted = 1000

    /// The text as a log line quotes it: if it is long, its beginning and how long it is.
    public var quoted: String {
        guard utf8.count > Self.mostQuoted else { return self }
        var end = utf8.index(startIndex, offsetBy: Self.mostQuoted)
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return "\(self[..<end])… (\(utf8.count) bytes)"
    }
}
