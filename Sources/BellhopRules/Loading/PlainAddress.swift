/// Judges an address written in a rule, without a request.
enum PlainAddress {
    /// Whether it is plain http:// to a machine other than this one.
    static func isReadableOnTheWay(_ text: String) -> Bool {
        let lower = text.lowercased()
        guard lower.hasPrefix("http://") else { return false }
        var authority = lower.dropFirst("http://".count).prefix { !"/?#".contains($0) }
        if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
        if authority.hasPrefix("[") { return !authority.hasPrefix("[::1]") }
        let host = authority.prefix { $0 != ":" }
        if host == "localhost" || host.hasSuffix(".localhost") { return false }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return !(parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil })
    }
}
