import BellhopCore
import Crypto

/// A request for a person's authorization in a browser (RFC 6749, section 4.1) with PKCE (RFC 7636). Never prints its secrets.
public struct AuthorizationRequest: Sendable, Confidential {
    /// Why a response has no code for this request.
    public struct Problem: Error, Sendable, Hashable {
        public var message: String
        /// Whether the response belongs to another request.
        public var isForeign = false
    }

    /// The page that the person opens.
    public let page: String
    public let redirect: HTTPAddress
    /// The redirect address as it is registered with the server.
    let registered: String
    let state: String
    let verifier: String

    init(_ settings: OAuthSettings, page: HTTPAddress, redirect: HTTPAddress, registered: String, random: () -> UInt64) {
        self.redirect = redirect
        self.registered = registered
        state = Self.secret(16, random)
        verifier = Self.secret(32, random)
        var query = [
            ("response_type", "code"), ("client_id", settings.clientID), ("redirect_uri", registered), ("state", state),
            ("code_challenge", Self.challenge(of: verifier)), ("code_challenge_method", "S256"),
        ]
        if let scope = settings.scope { query.append(("scope", scope)) }
        self.page = page.text + (page.target.contains("?") ? "&" : "?") + PercentEncoding.query(query)
    }

    /// The code in the target of a request to the redirect address. A request without a query is not the redirected browser's.
    public func code(at target: String) throws(Problem) -> String {
        guard target.contains("?") else { throw Problem(message: "The response has no code.", isForeign: true) }
        return try code(in: target)
    }

    /// The code in a pasted text: the whole redirect address, its query, or the code alone.
    ///
    /// An address must have the state of this request, which prevents forged authorizations. A code alone needs none, because the
    /// person who logs in pasted it.
    public func code(in text: String) throws(Problem) -> String {
        let text = String(ASCII.trimmed(text))
        guard !text.isEmpty else { throw Problem(message: "The response is empty.") }
        guard text.contains("?") || text.contains("state=") || text.contains("error=") else { return text }
        let query = text.split(separator: "?", maxSplits: 1).last ?? ""
        var values: [String: String] = [:]
        for pair in query.prefix(while: { $0 != "#" }).split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else { continue }
            let name = PercentEncoding.decode(halves[0])
            guard values[name] == nil else { throw Problem(message: "The response names `\(Redaction.excerpt(name))` twice.") }
            values[name] = PercentEncoding.decode(halves[1])
        }
        guard let state = values["state"], Self.isEqualInConstantTime(state, self.state) else {
            throw Problem(
                message:
                    "The response belongs to another login: its state does not match. Open only the address of this login.",
                isForeign: true)
        }
        if let error = values["error"] {
            let words = [error, values["error_description"] ?? ""].filter { !$0.isEmpty }.joined(separator: ": ")
            throw Problem(
                message: "The login was not authorized: \(Redaction.excerpt(words.replacing("+", with: " "), length: 120)).")
        }
        guard let code = values["code"], !code.isEmpty else { throw Problem(message: "The response has no code.") }
        return code
    }

    public var description: String { "AuthorizationRequest" }

    /// A number of random bytes, in Base64 for addresses.
    static func secret(_ count: Int, _ random: () -> UInt64) -> String {
        var bytes: [UInt8] = []
        while bytes.count < count { withUnsafeBytes(of: random()) { bytes += $0 } }
        return Base64URL.encode(bytes.prefix(count))
    }

    /// The PKCE challenge of a verifier, by the method S256.
    static func challenge(of verifier: String) -> String { Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8)))) }

    private static func isEqualInConstantTime(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        return left.count == right.count && zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
