import BellhopCore

/// The cookies of one session: the part of RFC 6265 that a client of one server needs.
///
/// As in browsers, `Secure` cookies are sent over https, and over http only to this machine.
struct CookieJar: Sendable, Hashable {
    struct Cookie: Sendable, Hashable {
        var name: String
        var value: String
        var domain: String
        /// True if the cookie has no `Domain`: it is sent only to the host that set it.
        var hostOnly: Bool
        var path: String
        var secure: Bool
        var expires: Timestamp?

        var size: Int { name.utf8.count + value.utf8.count + 3 }
    }

    private(set) var cookies: [Cookie] = []

    /// The names of the stored cookies, expired or not; values are secrets.
    var names: [String] { cookies.map(\.name) }

    /// Stores and deletes cookies according to an answer. Their dates are by the server's clock, which the answer's `Date` shows.
    mutating func store(_ headers: HeaderFields, from address: HTTPAddress, at now: Timestamp) {
        let ahead = headers["Date"].flatMap { Timestamp(httpDate: $0) }.map { $0 - now } ?? .zero
        for line in headers.all("Set-Cookie") where line.utf8.count <= Self.largestCookie {
            guard let cookie = Self.parse(line, from: address, at: now, ahead) else { continue }
            let place = cookies.firstIndex { $0.name == cookie.name && $0.domain == cookie.domain && $0.path == cookie.path }
            if let expires = cookie.expires, expires <= now {
                if let place { cookies.remove(at: place) }
            } else if let place {
                cookies[place] = cookie
            } else {
                cookies.append(cookie)
            }
        }
        // Drops the oldest. They all belong to one host.
        while cookies.count > Self.maxCookies || cookies.reduce(0, { $0 + $1.size }) > Self.largestJar { cookies.removeFirst() }
    }

    // The limits are the minimum a client must support (RFC 6265, section 6.1), because one request may carry all cookies.
    /// In bytes, with its attributes.
    private static let largestCookie = 4096
    private static let maxCookies = 50
    /// Names and values together, in bytes.
    private static let largestJar = 16 << 10

    /// The value of the `Cookie` field for a request; nil if there is nothing to send. Longer paths come first.
    mutating func header(for address: HTTPAddress, at now: Timestamp) -> String? {
        cookies.removeAll { cookie in cookie.expires.map { $0 <= now } ?? false }
        let path = String(address.path)
        let fitting = cookies.filter { cookie in
            (cookie.hostOnly ? address.host == cookie.domain : Self.domain(cookie.domain, covers: address.host))
                && Self.path(cookie.path, covers: path) && (!cookie.secure || address.isSecure || address.isLoopback)
        }
        if fitting.isEmpty { return nil }
        let ordered = fitting.enumerated().sorted {
            ($1.element.path.utf8.count, $0.offset) < ($0.element.path.utf8.count, $1.offset)
        }
        return ordered.map { "\($0.element.name)=\($0.element.value)" }.joined(separator: "; ")
    }

    mutating func removeAll() { cookies = [] }

    /// - Parameter ahead: how far the server's clock is ahead.
    private static func parse(_ line: String, from address: HTTPAddress, at now: Timestamp, _ ahead: Duration) -> Cookie? {
        let parts = line.split(separator: ";", omittingEmptySubsequences: false)
        guard let (name, value) = pair(parts[0]), !name.isEmpty, HeaderFields.isValue(value) else { return nil }
        var cookie = Cookie(
            name: name, value: value, domain: address.host, hostOnly: true, path: defaultPath(String(address.path)), secure: false
        )
        var maxAge: Int?
        for part in parts.dropFirst() {
            let (key, text) = pair(part) ?? (String(ASCII.trimmed(part)), "")
            switch ASCII.lowercased(key) {
            case "domain":
                let domain = ASCII.lowercased(text.first == "." ? String(text.dropFirst()) : text)
                guard !domain.isEmpty else { continue }
                guard self.domain(domain, covers: address.host) else { return nil }
                (cookie.domain, cookie.hostOnly) = (domain, false)
            case "path": if text.first == "/" { cookie.path = text }
            case "secure": cookie.secure = true
            case "max-age": maxAge = Int(text) ?? maxAge
            case "expires": cookie.expires = Timestamp(httpDate: text, now: now).map { $0 - ahead } ?? cookie.expires
            default: continue  // HttpOnly, SameSite and later attributes do not apply without pages
            }
        }
        if let maxAge { cookie.expires = maxAge <= 0 ? .distantPast : now + .seconds(maxAge) }
        return cookie
    }

    private static func pair(_ part: Substring) -> (String, String)? {
        guard let equals = part.firstIndex(of: "=") else { return nil }
        return (String(ASCII.trimmed(part[..<equals])), String(ASCII.trimmed(part[part.index(after: equals)...])))
    }

    /// A domain covers itself and its subdomains; a name without a dot covers only itself, because it may be a top-level domain.
    private static func domain(_ domain: String, covers host: String) -> Bool {
        host == domain
            || domain.contains(".") && host.hasSuffix("." + domain) && host.utf8.contains { !$0.isASCIIDigit && $0 != 0x2e }
    }

    private static func path(_ path: String, covers other: String) -> Bool {
        other == path || other.hasPrefix(path) && (path.last == "/" || other.dropFirst(path.count).first == "/")
    }

    private static func defaultPath(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
