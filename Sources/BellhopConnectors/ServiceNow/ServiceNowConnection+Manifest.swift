public import BellhopCore

extension ServiceNowConnection {
    /// What bellhop.yaml may say of a connection of kind `servicenow`.
    public static let manifest = ConnectionManifest(
        kind: "servicenow", role: .system, summary: "A ServiceNow instance.", actions: [CommentAction.manifest.kind],
        settings: [
            Setting("instance", .text, required: true, "The instance's name (acme) or its whole address."),
            Setting(
                "auth",
                .record([
                    Setting(
                        "basic",
                        .record([
                            Setting("username", .text, required: true, "The account's user name."),
                            Setting("password", .secret, required: true, "Its password."),
                        ]), "Log in with a name and a password."),
                    Setting("keychain", .boolean, "Log in with what `bellhop login` stored."),
                    Setting("oauth", .json, "Not built yet."),
                    Setting("bearer", .secret, "Not built yet."),
                    Setting("api_key", .secret, "Not built yet."),
                    Setting("certificate", .json, "Not built yet."),
                ]), required: true, "How to log in."),
        ] + HTTPConnection.Configuration.settings)

    /// How a connection logs in.
    enum Auth: Sendable, Hashable {
        case basic(Credentials)
        case keychain

        init(_ settings: Settings, connection: String) throws(ConnectorError) {
            func problem(_ setting: String, _ message: String) -> ConnectorError {
                ConnectorError(connection: connection, setting: setting, message)
            }
            guard let auth = settings.record("auth") else {
                throw problem("auth", "Say how to log in: auth: {basic: {username: …, password: …}} or auth: {keychain: true}.")
            }
            for later in ["oauth", "bearer", "api_key", "certificate"] where auth.values[later] != nil {
                throw problem("auth.\(later)", "Logging in by \(later) is not built yet: use basic or keychain.")
            }
            switch (auth.record("basic"), auth.boolean("keychain")) {
            case (let basic?, nil), (let basic?, false):
                guard let username = basic.text("username"), let password = basic.text("password"), !password.isEmpty else {
                    throw problem("auth.basic", "Basic authentication needs a username and a password.")
                }
                self = .basic(Credentials(username: username, password: password))
            case (nil, true?): self = .keychain
            case (_?, true?): throw problem("auth", "Choose one of basic and keychain.")
            case (nil, _):
                throw problem("auth", "Say how to log in: auth: {basic: {username: …, password: …}} or auth: {keychain: true}.")
            }
        }
    }
}
