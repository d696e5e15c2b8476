import BellhopCore

/// The address of a mail server: `smtp://host[:port]`, or `smtps://host[:port]` for TLS from the first byte (RFC 8314).
struct SMTPAddress: Sendable, Hashable {
    var isSecure: Bool
    /// In lower case; an IPv6 address without its brackets.
    var host: String
    var port: Int

    /// The ports for sending mail (RFC 6409), and for sending it with TLS from the first byte (RFC 8314).
    static let submission = 587
    static let submissions = 465

    init(_ text: some StringProtocol) throws(InvalidValue) {
        let text = ASCII.trimmed(text)
        guard let separator = text.firstRange(of: "://"),
            let isSecure = ["smtp": false, "smtps": true][ASCII.lowercased(text[..<separator.lowerBound])]
        else { throw InvalidValue(message: "The address of a mail server begins with smtp:// or smtps://.") }
        self.isSecure = isSecure
        let rest = text[separator.upperBound...]
        let authority = rest.prefix { !"/?#".contains($0) }
        guard rest.dropFirst(authority.count).allSatisfy({ $0 == "/" }), !authority.contains("@") else {
            throw InvalidValue(
                message: "Write the server's address as smtp://host:port; the user is `username` and the password `password`.")
        }
        // The same rules for hosts and ports as in web addresses.
        let address = try HTTPAddress("http://" + authority)
        host = address.host
        port = authority.last == "]" || !authority.contains(":") ? (isSecure ? Self.submissions : Self.submission) : address.port
        // Such a server says nothing before TLS begins.
        guard isSecure || port != Self.submissions else {
            throw InvalidValue(
                message: "A mail server at port 465 uses TLS from the first byte: write smtps:// instead of smtp://.")
        }
    }

    /// True for addresses of this machine, which may get mail without TLS.
    var isLoopback: Bool { Loopback.contains(host) }

    /// `host:port`, for messages.
    var place: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

    /// `smtp://host:port`.
    var text: String { (isSecure ? "smtps://" : "smtp://") + place }
}
