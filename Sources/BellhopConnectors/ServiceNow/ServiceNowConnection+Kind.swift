import BellhopCore

extension ServiceNowConnection {
    static let kind = ConnectionKind(manifest) { name, settings, environment throws(ConnectorError) in
        try await ServiceNowConnection(name: name, settings: settings, in: environment)
    }

    /// Makes it with the login that its settings name, which may be the one in the keychain.
    private init(name: String, settings: Settings, in environment: ConnectorEnvironment) async throws(ConnectorError) {
        let surroundings = Surroundings(
            clock: environment.clock, events: environment.events, notebook: environment.notebook, random: environment.random)
        guard settings.record("auth")?.boolean("keychain") == true else {
            try self.init(name: name, settings: settings, in: surroundings)
            return
        }
        let (login, mark) = (environment.login, environment.loginMark)
        let stored: (username: String, password: String)?
        do {
            stored = try await login(name)
        } catch {
            let message = (error as? Failure)?.message ?? "The keychain cannot be read: \(error)"
            throw ConnectorError(connection: name, setting: "auth.keychain", message)
        }
        guard let stored else {
            throw ConnectorError(
                connection: name, setting: "auth.keychain",
                "The keychain holds no login for \(name): run `bellhop login \(name)`.")
        }
        try self.init(
            name: name, settings: settings, username: stored.username,
            credentials: {
                guard let login = try await login(name) else {
                    throw Failure(
                        .unauthenticated, .pauseConnection,
                        "The keychain holds no login for \(name) any more: run `bellhop login \(name)`.")
                }
                return Credentials(username: login.username, password: login.password, mark: try await mark(name) ?? "")
            }, in: surroundings)
    }
}
