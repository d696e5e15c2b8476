/// A client in the instance's OAuth registry.
public struct SimulatedClient: Sendable, Hashable {
    /// How it may request tokens, named as in bellhop.yaml and the registry.
    public enum Grant: String, Sendable, Hashable, CaseIterable {
        case password, jwt
        case refreshToken = "refresh_token"
        case clientCredentials = "client_credentials"
        case authorizationCode = "authorization_code"
    }

    /// Which refresh token the answer to a refresh token contains.
    public enum NextRefreshToken: String, Sendable, Hashable {
        /// The same one.
        case same
        /// No refresh token: the old one stays valid.
        case none
        /// A new one; the old one becomes invalid.
        case other
    }

    public let id: String
    /// Nil for a client that cannot keep a secret and uses PKCE alone.
    public var secret: String?
    public var grants = Set(Grant.allCases)
    /// "OAuth Application User": the user for client_credentials.
    public var user: String?
    /// The public key of its assertions, in PEM.
    public var publicKey: String?
    /// Allowed redirect addresses.
    public var redirects: Set<String> = []
    public var accessSeconds = 1800
    public var refreshSeconds = 8_640_000
    public var next = NextRefreshToken.same

    public init(id: String, secret: String?) { (self.id, self.secret) = (id, secret) }
}

/// A key that acts as a user, and the paths for which a REST API Access Policy accepts it.
public struct SimulatedAPIKey: Sendable, Hashable {
    public let key: String
    public var user: String
    /// Path prefixes; empty for all.
    public var paths: [String] = []

    func covers(_ path: String) -> Bool { paths.isEmpty || paths.contains(where: path.hasPrefix) }
}

extension SimulatedInstance {
    /// Adds a client to the OAuth registry, replacing one with that id.
    @discardableResult
    public func addClient(
        _ id: String, secret: String? = "client-secret", _ edit: (inout SimulatedClient) -> Void = { _ in }
    ) -> SimulatedClient {
        var client = SimulatedClient(id: id, secret: secret)
        edit(&client)
        let made = client
        change { state, _ in state.tokens.clients[id] = made }
        return made
    }

    /// Changes a client, if it exists.
    public func changeClient(_ id: String, _ edit: (inout SimulatedClient) -> Void) {
        change { state, _ in if state.tokens.clients[id] != nil { edit(&state.tokens.clients[id]!) } }
    }

    public func addAPIKey(_ key: String, of user: String, paths: [String] = []) {
        change { state, _ in state.tokens.keys[key] = SimulatedAPIKey(key: key, user: user, paths: paths) }
    }

    /// Revokes tokens; the sessions that they opened end with access tokens.
    public func revokeTokens(access: Bool = true, refresh: Bool = false) {
        change { state, _ in
            state.tokens.revoke(access: access, refresh: refresh)
            if access { state.sessions.close { $0.tokenEnds != nil } }
        }
    }

    /// A refresh token of that user, as if from an earlier login of the client.
    public func refreshToken(of user: String, client id: String) -> String? {
        change { state, now in
            guard let client = state.tokens.clients[id], let user = state.world.user(named: user) else { return nil }
            return state.tokens.refreshToken(for: user.id, of: client, at: now).text
        }
    }

    /// A token of that user, as if issued to somebody else.
    public func accessToken(of user: String, client id: String) -> String? {
        change { state, now in
            guard let client = state.tokens.clients[id], let user = state.world.user(named: user) else { return nil }
            return state.tokens.accessToken(for: user.id, of: client, isNew: false, at: now).text
        }
    }
}
