import BellhopCore

/// A user name and its password, with a mark of when they were stored. Never prints the password.
public struct Credentials: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var username: String
    public var password: String
    /// Changes each time a login is stored, so that a password is retried after it was stored again. Empty without a stored login.
    public var mark = ""

    public var description: String { "Credentials(\(username))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["username": username]) }

    /// The texts that must never be shown.
    var secrets: [String] { [password, authorization, String(authorization.dropFirst("Basic ".count))] }

    var authorization: String { Base64.basic(username: username, password: password) }
}

extension Setting {
    /// How a connection logs in with a name and a password: both written down, or stored by `bellhop login`.
    static func passwordLogin(_ summary: String, username: String) -> [Setting] {
        [
            basicLogin(summary, username: username),
            Setting("keychain", .boolean, "Log in with the login stored by `bellhop login`."),
        ]
    }

    static func basicLogin(_ summary: String, username: String) -> Setting {
        Setting(
            "basic",
            .record([
                Setting("username", .text, required: true, username),
                Setting("password", .secret, required: true, "Its password."),
            ]), summary)
    }
}
