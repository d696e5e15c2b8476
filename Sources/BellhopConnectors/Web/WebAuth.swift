import BellhopCore

/// How a connection of kind `http` authenticates.
enum WebAuth: Sendable {
    case none
    /// The same header field with every request.
    case field(HeaderFields.Field)
    /// A token that is requested and renewed.
    case oauth(OAuthClient)

    static let settings: [Setting] = [
        .basicLogin("Send a name and a password with every request.", username: "The account's user name."),
        Setting("bearer", .secret, "Send a token with every request (`Authorization: Bearer …`)."),
        Setting(
            "api_key",
            .record([
                Setting("header", .text, default: "X-API-Key", "The header field for the key."),
                Setting("key", .secret, required: true, "The key."),
            ]), "Send a key with every request, in its own header field."),
        Setting("oauth", .record(OAuthSettings.manifest), "Send a token that Bellhop obtains and renews."),
    ]

    /// Reads the settings that do not change between requests; nil for `oauth`.
    init?(fixed settings: Settings, connection: String) throws(ConnectorError) {
        func problem(_ setting: String, _ message: String) -> ConnectorError {
            ConnectorError(connection: connection, setting: setting, message)
        }
        guard let auth = settings.record("auth") else {
            self = .none
            return
        }
        let ways = auth.values.keys
        guard ways.count == 1, let way = ways.first else {
            throw problem("auth", "Give exactly one of basic, bearer, api_key and oauth.")
        }
        let field: HeaderFields.Field
        switch way {
        case "basic":
            guard let basic = auth.record("basic"), let name = basic.text("username"), let password = basic.text("password"),
                !name.contains(":")
            else { throw problem("auth.basic", "Basic authentication needs a username (without a colon) and a password.") }
            field = .init("Authorization", Base64.basic(username: name, password: password))
        case "bearer":
            guard let token = auth.text("bearer"), !token.isEmpty else { throw problem("auth.bearer", "The token is empty.") }
            field = .init("Authorization", "Bearer " + token)
        case "api_key":
            guard let record = auth.record("api_key"), let key = record.text("key"), !key.isEmpty else {
                throw problem("auth.api_key", "The key is empty.")
            }
            field = .init(record.text("header") ?? "X-API-Key", key)
        default: return nil
        }
        guard HeaderFields.isName(field.name), HeaderFields.isValue(field.value) else {
            throw problem("auth.\(way)", "This cannot be sent in a header field.")
        }
        self = .field(field)
    }

    var hasCredentials: Bool { if case .none = self { false } else { true } }

    /// Texts to hide in messages.
    var secrets: [String] {
        switch self {
        case .none: []
        case .field(let field): [field.value] + field.value.split(separator: " ").dropFirst().map(String.init)
        case .oauth(let client): client.settings.secrets
        }
    }

    /// A token to send; nil if the connection uses no tokens.
    /// - Parameter stale: a token that was refused.
    func token(renewing stale: OAuthToken? = nil) async throws(Failure) -> OAuthToken? {
        switch self {
        case .none, .field: nil
        case .oauth(let client): try await client.authorization(renewing: stale)
        }
    }

    /// The account's name, if known from the settings.
    static func user(_ settings: Settings) -> String {
        let auth = settings.record("auth")
        return auth?.record("basic")?.text("username") ?? auth?.record("oauth")?.text("username")
            ?? auth?.record("oauth")?.text("subject") ?? ""
    }
}
