import BellhopCore

extension ServiceNowConnection {
    static let kind = ConnectionKind(
        manifest, login: { settings in loginWay(settings) },
        logins: { EventType.login(usesKeychain: $0.record("auth")?.boolean("keychain") == true) },
        make: { name, settings, environment throws(ConnectorError) in try await open(name, settings, in: environment) })

    private static func loginWay(_ settings: Settings) -> LoginWay {
        let auth = settings.record("auth")
        if auth?.boolean("keychain") == true { return .asked }
        return OAuthSettings.needsAgreement(auth) ? .agreed : .configured
    }

    /// Opens it with the login of its settings, possibly from the keychain.
    private static func open(
        _ name: String, _ settings: Settings, in environment: ConnectorEnvironment
    ) async throws(ConnectorError) -> ServiceNowConnection {
        let auth = settings.record("auth")
        if OAuthSettings.needsAgreement(auth) {
            let user = try await Self.user(ofTokensOf: name, environment)
            return try ServiceNowConnection(name: name, settings: settings, username: user, in: environment)
        }
        guard auth?.boolean("keychain") == true else {
            return try ServiceNowConnection(name: name, settings: settings, in: environment)
        }
        let origin = try Self.base(settings.text("instance") ?? "", connection: name).origin
        if let account = try await environment.account(of: name, at: origin) {
            return try ServiceNowConnection(
                name: name, settings: settings, username: account.username, credentials: account.credentials, in: environment)
        }
        if let connection = try await Self.ofKeptTokens(name, settings, in: environment) { return connection }
        throw .noLogin(of: name)
    }

    /// With the tokens from the keychain and the client that renews them; nil if it has none.
    private static func ofKeptTokens(
        _ name: String, _ settings: Settings, in environment: ConnectorEnvironment
    ) async throws(ConnectorError) -> ServiceNowConnection? {
        let tokens: KeptTokens?
        do {
            tokens = try await environment.tokens.tokens(of: name)
        } catch {
            throw ConnectorError(connection: name, setting: "auth.keychain", "The keychain cannot be read: \(error)")
        }
        guard let tokens, let client = tokens.client else { return nil }
        var settings = settings
        settings.values["auth"] = ["oauth": .object(client.values)]
        return try ServiceNowConnection(
            name: name, settings: settings, username: tokens.username.isEmpty ? nil : tokens.username, usesKeychain: true,
            in: environment)
    }

    /// The user of the tokens in the keychain; nil if it has none, or they name no user.
    private static func user(
        ofTokensOf name: String, _ environment: ConnectorEnvironment
    ) async throws(ConnectorError) -> String? {
        do {
            return try await environment.tokens.tokens(of: name).flatMap { $0.username.isEmpty ? nil : $0.username }
        } catch {
            let message = (error as? Failure)?.message ?? "The keychain cannot be read: \(error)"
            throw ConnectorError(connection: name, setting: "auth.oauth", message)
        }
    }
}
