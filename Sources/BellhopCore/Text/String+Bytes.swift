/// Texts by their bytes and code points. A character of Swift may be more than it seems: a slash and the accent behind it are one character,
/// which is not equal to a slash.
extension String {
    /// Whether it has the same bytes, as the store compares texts. For `==`, a letter with an accent also equals the same letter
    /// followed by the accent, so that one key would hide another.
    public func hasBytes(of other: String) -> Bool { utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8) }

    /// The text divided at its first slashes into this many parts, of which the last may contain slashes; nil if it has too few slashes.
    public func dividedAtSlashes(into count: Int) -> [String]? {
        let parts = utf8.split(separator: UInt8(ascii: "/"), maxSplits: count - 1, omittingEmptySubsequences: false)
        return parts.count == count ? parts.map { String(Substring($0)) } : nil
    }

    /// The text with each occurrence of these code points replaced, also before an accent.
    public func replacingScalars(of text: String, with replacement: String) -> String {
        String(unicodeScalars.replacing(text.unicodeScalars, with: replacement.unicodeScalars))
    }
}
