/// Judges an address written in a rule, without a request.
enum PlainAddress {
    /// Whether the address is unencrypted http:// to another machine, so that others can read the request on the way.
    static func isReadableOnTheWay(_ text: String) -> Bool {
        let lower = text.lowercased()
        guard lower.hasPrefix("http://") else { return false }
        var authority = lower.utf8.dropFirst("http://".utf8.count).prefix { !"/?#".utf8.contains($0) }
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) { authority = authority[authority.index(after: at)...] }
        if authority.first == UInt8(ascii: "[") { return !authority.starts(with: "[::1]".utf8) }
        let host = Substring(authority.prefix { $0 != UInt8(ascii: ":") })
        if host == "localhost" || host.hasSuffix(".localhost") { return false }
        let parts = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Substring.init)
        return !(parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil })
    }
}
