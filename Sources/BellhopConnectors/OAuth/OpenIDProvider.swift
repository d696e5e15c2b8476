public import BellhopCore
import Crypto
import Synchronization

/// A provider that identifies people (OpenID Connect Core 1.0, the authorization code flow with PKCE).
///
/// The ID token comes directly from the token endpoint over TLS, so its signature need not be checked (section 3.1.3.7, rule 6).
/// A class over a mutex, because it remembers the provider's addresses.
public final class OpenIDProvider: Sendable {
    /// The settings of the provider and of this client.
    public struct Settings: Sendable, Hashable {
        /// The provider's address, exactly as the provider writes it.
        public var issuer: String
        public var clientID: String
        public var clientSecret: String?
        /// The scopes to ask for, separated by spaces.
        public var scope: String
        /// The claim that names the person.
        public var nameClaim: String

        public init(issuer: String, clientID: String, clientSecret: String?, scope: String, nameClaim: String) {
            self.issuer = issuer
            self.clientID = clientID
            self.clientSecret = clientSecret
            self.scope = scope
            self.nameClaim = nameClaim
        }
    }

    /// A login that a person has begun.
    public struct Login: Sendable, Hashable {
        public var state: String
        var nonce: String
        var verifier: String
        var redirect: String
    }

    /// Who logged in.
    public struct Person: Sendable, Hashable {
        public var name: String
        public var claims: JSON
    }

    /// Why a login failed, in sentences without secrets.
    public struct Problem: Error, Sendable, Hashable { public var message: String }

    private struct Addresses: Sendable {
        var authorization: HTTPAddress
        var token: HTTPAddress
        /// Whether the token endpoint accepts the client's secret as Basic authentication.
        var takesBasic: Bool
        /// When the provider's configuration was read.
        var read: Timestamp
    }

    private let settings: Settings
    private let exchange: any HTTPExchange
    private let clock: any AgentClock
    /// Makes the secrets of logins.
    private let key = SymmetricKey(size: .bits256)
    private let known = Mutex<Addresses?>(nil)

    /// How long the provider's addresses are remembered.
    private static let fresh = Duration.seconds(3600)
    /// How far the provider's clock may differ.
    private static let skew: Int64 = 60
    private static let longestName = 200

    public init(_ settings: Settings, over exchange: any HTTPExchange, clock: any AgentClock) {
        self.settings = settings
        self.exchange = exchange
        self.clock = clock
    }

    /// The login of a browser. Its secrets are made from the browser's cookie and a key, so that the agent need not remember it: only this
    /// browser can complete the login, and a changed cookie belongs to no login.
    /// - Parameters:
    ///   - cookie: different for each login.
    ///   - redirect: where the provider sends the browser back to.
    public func login(_ cookie: String, redirect: String) -> Login {
        func secret(_ name: String) -> String {
            Base64URL.encode(Array(HMAC<SHA256>.authenticationCode(for: Array("\(name) \(cookie)".utf8), using: key)))
        }
        return Login(state: secret("state"), nonce: secret("nonce"), verifier: secret("verifier"), redirect: redirect)
    }

    public func page(of login: Login) async throws(Problem) -> String {
        let query = [
            ("response_type", "code"), ("client_id", settings.clientID), ("redirect_uri", login.redirect),
            ("scope", settings.scope), ("state", login.state), ("nonce", login.nonce),
            ("code_challenge", AuthorizationRequest.challenge(of: login.verifier)), ("code_challenge_method", "S256"),
        ]
        return try await addresses().authorization.adding(query: PercentEncoding.query(query)).text
    }

    /// Exchanges a code for the identity of the person who logged in.
    public func person(_ code: String, of login: Login) async throws(Problem) -> Person {
        let addresses = try await addresses()
        var form = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", login.redirect),
            ("code_verifier", login.verifier),
        ]
        let secretInHeader = addresses.takesBasic ? settings.clientSecret : nil
        if secretInHeader == nil {
            form.append(("client_id", settings.clientID))
            if let secret = settings.clientSecret { form.append(("client_secret", secret)) }
        }
        let body = try await answer(
            to: TokenForm.request(form, to: addresses.token, client: settings.clientID, secretInHeader: secretInHeader))
        guard let token = body["id_token"]?.asString else {
            throw Problem(message: "\(settings.issuer) answered without an ID token. Is `openid` among the scopes?")
        }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64URL.decode(parts[1]),
            let claims = try? JSON.parse(bytes)
        else { throw Problem(message: "\(settings.issuer) answered with an ID token that cannot be read.") }
        return try person(claims, of: login)
    }

    /// Checks the claims (OpenID Connect Core 1.0, section 3.1.3.7).
    private func person(_ claims: JSON, of login: Login) throws(Problem) -> Person {
        func refused(_ why: String) -> Problem { Problem(message: "The ID token of \(settings.issuer) was refused: \(why).") }
        guard claims["iss"]?.asString == settings.issuer else { throw refused("it comes from another issuer") }
        let audience = claims["aud"]?.asString.map { [$0] } ?? claims["aud"]?.asArray?.compactMap(\.asString) ?? []
        guard audience.contains(settings.clientID) else { throw refused("it is for another client") }
        if audience.count > 1 || claims["azp"] != nil {
            guard claims["azp"]?.asString == settings.clientID else { throw refused("it is for another client") }
        }
        guard claims["nonce"]?.asString == login.nonce else { throw refused("it belongs to another login") }
        let now = clock.now.seconds
        guard let end = claims["exp"]?.asDouble, Double(now - Self.skew) < end else { throw refused("it has expired") }
        let name = claims[settings.nameClaim].textOrEmpty
        guard !name.isEmpty, name.utf8.count <= Self.longestName, !name.unicodeScalars.contains(where: \.isInvisible) else {
            throw Problem(
                message: "\(settings.issuer) does not say who you are: the claim `\(settings.nameClaim)` is missing, too long, "
                    + "or has invisible characters.")
        }
        return Person(name: name, claims: claims)
    }

    /// The provider's addresses (OpenID Connect Discovery 1.0, section 4).
    private func addresses() async throws(Problem) -> Addresses {
        let now = clock.now
        if let known = known.withLock({ $0 }), known.read <= now, now - known.read < Self.fresh { return known }
        let place: HTTPAddress
        do throws(InvalidValue) { place = try HTTPAddress(settings.issuer) } catch { throw Problem(message: error.message) }
        let document = try await answer(to: HTTPRequest(place.adding(path: "/.well-known/openid-configuration")))
        guard document["issuer"]?.asString == settings.issuer else {
            throw Problem(
                message: "The provider at \(settings.issuer) names another issuer: write `issuer` exactly as the provider does.")
        }
        func address(_ name: String) throws(Problem) -> HTTPAddress {
            guard let text = document[name]?.asString, let address = try? HTTPAddress(text) else {
                throw Problem(message: "\(settings.issuer) names no `\(name)`.")
            }
            return address
        }
        let methods = document["token_endpoint_auth_methods_supported"]?.asArray?.compactMap(\.asString)
        let addresses = Addresses(
            authorization: try address("authorization_endpoint"), token: try address("token_endpoint"),
            takesBasic: methods?.contains("client_secret_basic") ?? true, read: now)
        known.withLock { $0 = addresses }
        return addresses
    }

    private func answer(to request: HTTPRequest) async throws(Problem) -> JSON {
        let response = try await rethrowing(as: { Problem(message: $0.failure(changesSomething: false).message) }) {
            () async throws(TransportError) in
            try await exchange.send(request)
        }
        guard response.isSuccess, let body = try? JSON.parse(response.body), body.asObject != nil else {
            let error = (try? JSON.parse(response.body))?["error"]?.asString.map { ": " + Redaction.excerpt($0, length: 60) }
            throw Problem(message: "\(request.address.place) answered \(response.status)\(error ?? "").")
        }
        return body
    }
}
