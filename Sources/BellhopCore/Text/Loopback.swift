/// The names and addresses of this machine, for which plain http is allowed.
public enum Loopback {
    /// Whether a host is `localhost`, a name below it, or a loopback address.
    ///
    /// - Parameter host: in lower case; an IPv6 address without its brackets.
    public static func contains(_ host: some StringProtocol) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
