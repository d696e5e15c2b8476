import BellhopCore

/// The user of a connection. The password is read at each login, so that a changed one is noticed.
struct Account: Sendable {
    var connection: String
    var username: String
    var credentials: @Sendable () async throws -> Credentials

    /// The current credentials. Throws if they belong to another user now, because the stored state of sources belongs to the
    /// original one.
    func current() async throws(Failure) -> Credentials {
        let current: Credentials
        do {
            current = try await credentials()
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(
                .unauthenticated, .pauseConnection,
                "There is no login for connection \(connection): \(error). Run `bellhop login \(connection)`.")
        }
        guard current.username == username else {
            throw Failure(
                .unauthenticated, .pauseConnection,
                "The login stored for connection \(connection) is another user's now (\(current.username), it was \(username)): "
                    + "restart the agent.")
        }
        return current
    }
}

extension ConnectorEnvironment {
    /// The account in the keychain for a connection to this origin; nil if there is none.
    func account(of connection: String, at origin: String) async throws(ConnectorError) -> Account? {
        let stored: (username: String, password: String)?
        do {
            stored = try await login(of: connection, at: origin)
        } catch {
            let message = (error as? Failure)?.message ?? "The keychain cannot be read: \(error)"
            throw ConnectorError(connection: connection, setting: "auth.keychain", message)
        }
        guard let stored else { return nil }
        return Account(connection: connection, username: stored.username) {
            guard let login = try await self.login(of: connection, at: origin) else {
                throw Failure(
                    .unauthenticated, .pauseConnection,
                    "The keychain no longer holds a login for \(connection): run `bellhop login \(connection)`.")
            }
            return Credentials(
                username: login.username, password: login.password, mark: try await self.loginMark(connection) ?? "",
                isTrial: self.isTrial)
        }
    }
}

extension ConnectorError {
    /// The error for a keychain without this login.
    static func noLogin(of connection: String) -> ConnectorError {
        ConnectorError(
            connection: connection, setting: "auth.keychain",
            "The keychain holds no login for \(connection): run `bellhop login \(connection)`.")
    }
}

/// A user name and its password, with a mark of when they were stored. Never prints the password.
public struct Credentials: Sendable, Hashable, Confidential {
    public var username: String
    public var password: String
    /// Changes each time a login is stored, so that a password is retried after it was stored again. Empty without a stored login.
    public var mark = ""
    /// Whether they are only tried, and neither in bellhop.yaml nor in the keychain.
    var isTrial = false

    public var description: String { "Credentials(\(username))" }

    /// The texts that must never be shown.
    var secrets: [String] { [password, authorization, String(authorization.dropFirst("Basic ".count))] }

    /// Says when they are tried again, after a sentence about their refusal. Empty for a trial, which is not repeated.
    func advice(connection: String) -> String {
        isTrial ? "" : " Bellhop will not retry it until you change it or run `bellhop login \(connection)`."
    }

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
