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

    /// Gives a user an API key.
    public func addAPIKey(_ key: String, of user: String, paths: [String] = []) {
        change { state, _ in state.tokens.keys[key] = SimulatedAPIKey(key: key, user: user, paths: paths) }
    }

    /// Revokes tokens; the sessions that they opened end with access tokens, if the instance is set so.
    public func revokeTokens(access: Bool = true, refresh: Bool = false) {
        change { state, _ in
            state.tokens.revoke(access: access, refresh: refresh)
            if access, state.settings.sessionsEndWithToken { state.sessions.closeTokenSessions() }
        }
    }

    /// A refresh token of that user, as if from an earlier login of the client.
    public func refreshToken(of user: String, client id: String) -> String? {
        change { state, now in
            guard let client = state.tokens.clients[id], let user = state.world.user(named: user) else { return nil }
            return state.tokens.refreshToken(for: user.id, of: client, at: now)
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
