import BellhopCore

struct TokenForm: Sendable {
    var fields: [(String, String)]
    /// Everything that decides whether the endpoint accepts the form, so that a refusal of the same is remembered.
    var credentials: Credentials

    static func refreshing(_ token: String, _ settings: OAuthSettings, mark: String) -> TokenForm {
        TokenForm([("grant_type", "refresh_token"), ("refresh_token", token)], settings, secrets: [token], mark: mark)
    }

    /// The form that exchanges the code of a person's authorization.
    static func redeeming(_ code: String, _ request: AuthorizationRequest, _ settings: OAuthSettings) -> TokenForm {
        TokenForm(
            [
                ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", request.registered),
                ("code_verifier", request.verifier),
            ], settings, secrets: [code], mark: "")
    }

    /// The form of the grant; nil for a grant that needs a refresh token or a person.
    static func granting(_ settings: OAuthSettings, id: String, at now: Timestamp) throws -> TokenForm? {
        switch settings.grant {
        case .password(let username, let password):
            TokenForm(
                [("grant_type", "password"), ("username", username), ("password", password)], settings,
                secrets: [username, password])
        case .clientCredentials: TokenForm([("grant_type", "client_credentials")], settings, secrets: [])
        case .jwt(let assertion):
            TokenForm(
                [
                    ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                    ("assertion", try assertion.text(id: id, at: now)),
                ], settings, secrets: [assertion.key.fingerprint, assertion.subject, assertion.issuer, assertion.audience])
        case .refreshToken, .authorizationCode: nil
        }
    }

    private init(_ fields: [(String, String)], _ settings: OAuthSettings, secrets: [String], mark: String = "") {
        var fields = fields
        if !settings.secretInHeader {
            fields.append(("client_id", settings.clientID))
            if let secret = settings.clientSecret { fields.append(("client_secret", secret)) }
        }
        let isRedeeming = fields.contains { $0.0 == "code" }
        if let scope = settings.scope, !isRedeeming { fields.append(("scope", scope)) }
        for (name, value) in settings.parameters { fields.append((name, value)) }
        self.fields = fields
        let shown =
            secrets + [settings.clientSecret ?? "", settings.scope ?? ""] + settings.parameters.flatMap { [$0.name, $0.value] }
        credentials = Credentials(username: settings.clientID, password: shown.joined(separator: "\u{0}"), mark: mark)
    }

    /// The request: everything in the body, nothing in the address.
    func request(_ settings: OAuthSettings) -> HTTPRequest {
        Self.request(
            fields, to: settings.tokenAddress, client: settings.clientID,
            secretInHeader: settings.secretInHeader ? settings.clientSecret : nil)
    }

    /// A form for a token endpoint.
    /// - Parameter secret: sent as Basic authentication; nil for a client that identifies itself in the form.
    static func request(
        _ fields: [(String, String)], to address: HTTPAddress, client: String, secretInHeader secret: String?
    ) -> HTTPRequest {
        var headers: HeaderFields = ["Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"]
        if let secret {
            // RFC 6749, section 2.3.1: both are encoded before they are joined.
            headers["Authorization"] = Base64.basic(
                username: PercentEncoding.encode(client), password: PercentEncoding.encode(secret))
        }
        return HTTPRequest("POST", address, headers: headers, body: Array(PercentEncoding.query(fields).utf8))
    }
}
