import BellhopCore

/// An absolute http or https address, parsed.
public struct HTTPAddress: Sendable, Hashable {
    public var isSecure: Bool
    /// In lower case; an IPv6 address without its brackets.
    public let host: String
    /// True for `localhost` and other addresses of this machine, for which plain http is allowed.
    public let isLoopback: Bool
    public var port: Int
    /// The path and query of the request line; begins with `/`.
    public private(set) var target: String
    /// The part before an `@`: `user:password`, decoded. Sent as Basic authentication, never as part of the address.
    public var userInfo: String?

    /// Reads `https://host[:port][/path][?query]`; drops a fragment and encodes characters that are not allowed in an address.
    public init(_ text: some StringProtocol) throws(InvalidValue) {
        guard let separator = text.firstRange(of: "://") else {
            throw InvalidValue(message: "An address begins with https:// (or http://).")
        }
        switch ASCII.lowercased(text[..<separator.lowerBound]) {
        case "https": isSecure = true
        case "http": isSecure = false
        default: throw InvalidValue(message: "Only https:// and http:// addresses are supported.")
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
            guard after.isEmpty || after.first == ":" else { throw InvalidValue(message: "The address has no valid host.") }
            portText = after.isEmpty ? nil : after.dropFirst()
        } else if let colon = authority.lastIndex(of: ":") {
            host = ASCII.lowercased(authority[..<colon])
            portText = authority[authority.index(after: colon)...]
        } else {
            host = ASCII.lowercased(authority)
        }
        // The client would decode a host with `%` after it was checked; only a zone of an IPv6 address has one.
        guard !host.isEmpty, host.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "-._:%".utf8.contains($0) }),
            host.prefix(while: { $0 != "%" }).contains(":") || !host.contains("%")
        else { throw InvalidValue(message: "The address has no valid host.") }
        isLoopback = Loopback.contains(host)
        if let portText {
            guard let number = Int(portText), 1...65535 ~= number else {
                throw InvalidValue(message: "The port of an address is a number from 1 to 65535.")
            }
            port = number
        } else {
            port = isSecure ? 443 : 80
        }
        target = PercentEncoding.encodeAddress(tail.first == "/" ? String(tail) : "/" + tail)
    }

    /// `https://host[:port]`, without the scheme's default port.
    public var origin: String { (isSecure ? "https://" : "http://") + authority }

    /// `host[:port]`, without the scheme's default port.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : name + ":\(port)"
    }

    /// `host:port`, for messages: holds no secret.
    public var place: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

    /// The path without the query.
    public var path: Substring { target.prefix { $0 != "?" } }

    /// The whole address as it is sent, without the user information.
    public var text: String { origin + target }

    func adding(query: String) -> HTTPAddress { with(target: target + (target.contains("?") ? "&" : "?") + query) }

    /// Appends to the path, before the query.
    public func adding(path: String) -> HTTPAddress {
        let base = self.path.last == "/" ? self.path.dropLast() : self.path
        return with(target: base + path + target[self.path.endIndex...])
    }

    /// Another target on the same host, encoded like that of ``init(_:)``.
    public func with(target: String) -> HTTPAddress {
        var copy = self
        copy.target = PercentEncoding.encodeAddress(target)
        return copy
    }
}

extension HTTPAddress: CustomStringConvertible {
    /// The address without possible secrets: no user information, no query.
    public var description: String { origin + path }
}

extension HTTPAddress {
    /// Whether another address has the same scheme, host and port, so that the same credentials may be sent.
    func hasOrigin(of other: HTTPAddress) -> Bool { isSecure == other.isSecure && host == other.host && port == other.port }

    /// The address of a page or resource below this one: from a relative path, or a whole address of the same origin.
    ///
    /// Refuses all other addresses, because requests carry credentials.
    func inside(_ text: String) throws(InvalidValue) -> HTTPAddress {
        let text = ASCII.trimmed(text)
        let isWhole = Self.hasScheme(text)
        guard isWhole ? text.contains("://") : !text.hasPrefix("//") && !text.hasPrefix("\\") else {
            throw InvalidValue(message: "This is neither a path nor an http or https address.")
        }
        if isWhole {
            let whole = try HTTPAddress(text)
            guard whole.userInfo == nil else { throw InvalidValue(message: "An address here must not name a user.") }
            guard whole.hasOrigin(of: self) else {
                throw InvalidValue(message: "\(whole.place) is another host than the connection's (\(place)).")
            }
            try InnerPath.refuseDots(in: whole.path)
            return whole
        }
        let base = path.last == "/" ? path.dropLast() : path
        let tail = text.isEmpty || text.first == "?" || text.first == "/" ? String(text) : "/" + text
        let address = try HTTPAddress(origin + base + tail)
        try InnerPath.refuseDots(in: address.path)
        return address
    }
}

extension HTTPAddress {
    /// Resolves a reference, such as a `Location` or a link (RFC 3986, section 5.2); nil if the result is not an http address.
    public func resolving(_ reference: some StringProtocol) -> HTTPAddress? {
        let text = ASCII.trimmed(reference).prefix { $0 != "#" }
        if Self.hasScheme(text) { return (try? HTTPAddress(text))?.withoutDots }
        if text.hasPrefix("//") { return (try? HTTPAddress((isSecure ? "https:" : "http:") + text))?.withoutDots }
        switch text.utf8.first {
        case nil: return try? HTTPAddress(origin + target)
        case UInt8(ascii: "?"): return try? HTTPAddress(origin + path + text)
        case UInt8(ascii: "/"): return (try? HTTPAddress(origin + text))?.withoutDots
        default:
            let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
            return (try? HTTPAddress(origin + folder + text))?.withoutDots
        }
    }

    /// Whether a text begins with a scheme, such as `https:` or `mailto:`.
    static func hasScheme(_ text: Substring) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let name = text.utf8[..<colon]
        return name.first.map(\.isASCIILetter) == true && name.allSatisfy { $0.isASCIIAlphanumeric || "+.-".utf8.contains($0) }
    }

    /// The address with the `.` and `..` segments of its path removed (section 5.2.4).
    private var withoutDots: HTTPAddress {
        let query = target[path.endIndex...]
        var steps: [Substring] = []
        let all = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (place, step) in all.enumerated() {
            switch step {
            case ".", "..":
                if step == "..", !steps.isEmpty { steps.removeLast() }
                // At the end of the path, the result is a folder.
                if place == all.count - 1 { steps.append("") }
            default: steps.append(step)
            }
        }
        return with(target: "/" + steps.joined(separator: "/") + query)
    }
}

/// A path below a base address, as settings and rules write it. Inserted values cannot make it leave the base.
enum InnerPath {
    /// The path of a value: text is used as is; each element of a list becomes one encoded segment.
    static func text(_ value: JSON?) throws(InvalidValue) -> String {
        let text: String
        if let parts = value?.asArray {
            let words = parts.map(RequestArguments.words)
            guard words.allSatisfy({ !$0.isEmpty }) else { throw InvalidValue(message: "A part of the path is empty.") }
            text = words.map { PercentEncoding.encode($0) }.joined(separator: "/")
        } else {
            text = value.map(RequestArguments.words) ?? ""
        }
        try refuseDots(in: text.prefix { $0 != "?" && $0 != "#" })
        return text
    }

    /// Refuses `.` and `..`, also if encoded (once or more), between backslashes, or with parameters (`..;x`): some servers
    /// accept these and would leave the base.
    static func refuseDots(in path: some StringProtocol) throws(InvalidValue) {
        var text = String(path)
        for _ in 0..<4 {
            let steps = text.utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
            let hasDots = steps.contains { step in
                let name = step.prefix { $0 != UInt8(ascii: ";") }
                return name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8)
            }
            if hasDots { throw InvalidValue(message: "A path must not contain `.` or `..` as a part.") }
            let decoded = PercentEncoding.decode(text)
            if decoded == text { return }
            text = decoded
        }
        throw InvalidValue(message: "This path is percent-encoded too many times to tell where it leads.")
    }
}
