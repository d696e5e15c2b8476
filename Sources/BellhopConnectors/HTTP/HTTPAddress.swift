/// An absolute http or https address, parsed.
public struct HTTPAddress: Sendable, Hashable {
    public var isSecure: Bool
    /// In lower case; an IPv6 address without its brackets.
    public var host: String
    public var port: Int
    /// The path with the query, as the request line has it; begins with `/`.
    public var target: String
    /// The part before an `@`: `user:password`, decoded. Sent as Basic authentication, never as part of the address.
    public var userInfo: String?

    /// Why a text is not a usable address.
    public struct Problem: Error, Sendable, Hashable {
        /// One sentence without the text itself, which may hold secrets.
        public var message: String
    }

    /// Reads `https://host[:port][/path][?query]`; drops a fragment and encodes characters that are not allowed in an address.
    public init(_ text: some StringProtocol) throws(Problem) {
        guard let separator = text.firstRange(of: "://") else {
            throw Problem(message: "An address begins with https:// (or http://).")
        }
        switch ASCII.lowercased(text[..<separator.lowerBound]) {
        case "https": isSecure = true
        case "http": isSecure = false
        default: throw Problem(message: "Only https:// and http:// addresses are supported.")
        }
        let rest = text[separator.upperBound...].prefix { $0 != "#" }
        var authority = Substring(rest.prefix { $0 != "/" && $0 != "?" })
        let tail = rest[authority.endIndex...]
        if let at = authority.lastIndex(of: "@") {
            userInfo = PercentEncoding.decode(authority[..<at])
            authority = authority[authority.index(after: at)...]
        }
        var portText: Substring?
        if authority.first == "[", let close = authority.firstIndex(of: "]") {
            host = ASCII.lowercased(authority[authority.index(after: authority.startIndex)..<close])
            let after = authority[authority.index(after: close)...]
            guard after.isEmpty || after.first == ":" else { throw Problem(message: "The address has no valid host.") }
            portText = after.isEmpty ? nil : after.dropFirst()
        } else if let colon = authority.lastIndex(of: ":") {
            host = ASCII.lowercased(authority[..<colon])
            portText = authority[authority.index(after: colon)...]
        } else {
            host = ASCII.lowercased(authority)
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ ASCII.isAlphanumeric($0) || "-._:%".utf8.contains($0) }) else {
            throw Problem(message: "The address has no valid host.")
        }
        if let portText {
            guard let number = Int(portText), 1...65535 ~= number else {
                throw Problem(message: "The port of an address is a number from 1 to 65535.")
            }
            port = number
        } else {
            port = isSecure ? 443 : 80
        }
        target = PercentEncoding.encodeAddress(tail.first == "/" ? String(tail) : "/" + tail)
    }

    /// True for `localhost` and other addresses of this machine, which plain http may be used for.
    public var isLoopback: Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// `https://host[:port]`, without the scheme's default port.
    public var origin: String {
        let name = host.contains(":") ? "[\(host)]" : host
        let isOwn = port == (isSecure ? 443 : 80)
        return (isSecure ? "https://" : "http://") + name + (isOwn ? "" : ":\(port)")
    }

    /// `host:port`, for messages: holds no secret.
    public var place: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

    /// The path without the query.
    public var path: Substring { target.prefix { $0 != "?" } }

    /// The whole address as it is sent, without the user information.
    public var text: String { origin + target }

    /// The address of another target on the same host.
    public func with(target: String) -> HTTPAddress {
        var copy = self
        copy.target = target
        return copy
    }
}

extension HTTPAddress: CustomStringConvertible {
    /// The address without possible secrets: no user information, no query.
    public var description: String { origin + path }
}
