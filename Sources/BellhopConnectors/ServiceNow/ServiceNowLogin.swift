import BellhopCore
import Synchronization

/// How a connection authenticates to an instance.
struct ServiceNowLogin: Sendable {
    enum Way: Sendable {
        case password(Account)
        case oauth(OAuthClient)
        case bearer(String)
        case apiKey(String)
        /// Sent by TLS; the text is its fingerprint.
        case certificate(String)
    }

    /// The user according to the configuration, which the instance confirms at login.
    enum Identity: Sendable, Hashable {
        /// The account's user name; if the instance names another, the login fails.
        case user(String)
        /// A name for a user that only the instance knows. It stays the same over restarts, renewed tokens and changed keys, because
        /// the sources' state belongs to it.
        case placeholder(String)

        var text: String {
            switch self {
            case .user(let text), .placeholder(let text): text
            }
        }
    }

    /// The credentials to send. Never prints itself.
    struct Authorization: Sendable, Confidential {
        var headers: HeaderFields = [:]
        /// Identifies a refused login.
        var credentials: Credentials
        var token: OAuthToken?

        var description: String { "Authorization(\(credentials.username))" }
    }

    var connection: String
    var way: Way
    var identity: Identity

    /// Whether to ask the instance for the user's name; a login by user name and password already contains it.
    var asksForUser: Bool { if case .password = way { false } else { true } }

    /// Whether to send the credentials with every request, not only with the first: an API key is valid only for some paths.
    var isSentAlways: Bool { if case .apiKey = way { true } else { false } }

    var oauth: OAuthClient? { if case .oauth(let client) = way { client } else { nil } }

    /// The credentials to send now.
    /// - Parameters:
    ///   - stale: a token that was refused or whose session ended, so another is requested.
    ///   - force: whether to send credentials that the token endpoint refused before.
    func authorization(renewing stale: OAuthToken? = nil, force: Bool = false) async throws(Failure) -> Authorization {
        switch way {
        case .password(let account):
            let current = try await account.current()
            return Authorization(headers: ["Authorization": current.authorization], credentials: current)
        case .oauth(let client):
            let token = try await client.authorization(renewing: stale, force: force)
            return Authorization(
                headers: ["Authorization": token.authorization],
                credentials: Credentials(username: client.settings.clientID, password: token.text), token: token)
        case .bearer(let token):
            return Authorization(
                headers: ["Authorization": "Bearer " + token],
                credentials: Credentials(username: "bearer", password: token, mark: identity.text))
        case .apiKey(let key):
            return Authorization(
                headers: ["x-sn-apikey": key], credentials: Credentials(username: "api_key", password: key, mark: identity.text))
        case .certificate(let fingerprint):
            return Authorization(credentials: Credentials(username: "certificate", password: fingerprint, mark: identity.text))
        }
    }
}

extension ServiceNowLogin {
    struct StoredLogin: Sendable {
        /// Nil if the keychain holds no login.
        var username: String?
        /// Called at each login; nil to use the credentials in bellhop.yaml.
        var credentials: (@Sendable () async throws -> Credentials)?
    }

    /// - Parameters:
    ///   - username: `auth.username`.
    ///   - http: the exchange with the instance.
    init(
        _ auth: ServiceNowConnection.Auth, connection: String, username: String?, stored: StoredLogin, http: HTTPConnection,
        tokens: HTTPConnection, environment: ConnectorEnvironment
    ) throws(ConnectorError) {
        self.connection = connection
        func named(or placeholder: String) -> Identity { username.map(Identity.user) ?? .placeholder(placeholder) }
        switch auth {
        case .basic(let credentials):
            way = .password(
                Account(
                    connection: connection, username: credentials.username, credentials: stored.credentials ?? { credentials }))
            identity = .user(credentials.username)
        case .keychain:
            guard let user = stored.username, let credentials = stored.credentials else { throw .noLogin(of: connection) }
            way = .password(Account(connection: connection, username: user, credentials: credentials))
            identity = .user(user)
        case .oauth(let settings):
            way = .oauth(OAuthClient(settings, connection: connection, exchange: tokens, environment: environment))
            switch settings.grant {
            case .password(let username, _): identity = .user(username)
            // An assertion's subject may be an address or a number.
            case .jwt(let assertion): identity = named(or: assertion.subject)
            case .authorizationCode:
                identity = (username ?? stored.username).map(Identity.user) ?? .placeholder("(oauth of \(connection))")
            case .refreshToken, .clientCredentials: identity = named(or: "(oauth of \(connection))")
            }
        case .bearer(let token):
            way = .bearer(token)
            identity = named(or: "(bearer of \(connection))")
        case .apiKey(let key):
            way = .apiKey(key)
            identity = named(or: "(api key of \(connection))")
        case .certificate:
            way = .certificate(http.certificateFingerprint ?? "")
            identity = named(or: "(certificate of \(connection))")
        }
        let name = identity.text
        guard !name.isEmpty, !ComparedValue.isScript(name), HeaderFields.isValue(name), !name.contains(":") else {
            throw ConnectorError(connection: connection, setting: "auth", "This is not a valid user name.")
        }
    }
}

// MARK: Messages

extension ServiceNowLogin {
    /// The failure if the instance answers 401 to the credentials.
    func refusal(of credentials: Credentials, at place: String) -> Failure {
        let again = credentials.advice(connection: connection)
        let message =
            switch way {
            case .password:
                "\(place) refuses the password of \(identity.text) (401).\(again) If the password is right, the instance may not allow Basic "
                    + "authentication for this account (role snc_basic_auth_api_access), or require a second factor."
            case .oauth(let client):
                "\(place) refuses a token that \(client.settings.tokenAddress.place) has just given connection \(connection) (401): "
                    + "the token is of another instance, its scope does not cover the REST API, or its user may not log in."
            case .bearer:
                "\(place) refuses the bearer token of connection \(connection) (401): it has expired or was revoked.\(again) "
                    + "Bellhop can only renew tokens obtained by `oauth`."
            case .apiKey:
                "\(place) refuses the API key of connection \(connection) (401): it has expired, or the instance has no inbound "
                    + "authentication profile and REST API Access Policy that accept it for the Table API (sys_user).\(again)"
            case .certificate:
                "\(place) does not know the certificate of connection \(connection) (401): it must be registered there for a user, "
                    + "and mutual authentication be switched on.\(again)"
            }
        return Failure(.unauthenticated, .pauseConnection, message)
    }

    func secondFactor(at place: String) -> Failure {
        Failure(
            .mfaRequired, .pauseConnection,
            "\(place) requires a second factor of \(identity.text), which an unattended program cannot give: "
                + "use an account for integrations, or run `bellhop login \(connection)` once the account no longer needs one.")
    }

    /// The failure if the instance accepts the login but answers 401 to a request.
    func requestRefused(at place: String, user: String) -> Failure {
        let reason =
            switch way {
            case .apiKey: ": its REST API Access Policy may not cover this API"
            case .oauth, .bearer: ": the token's scope may not cover this API"
            case .password, .certificate: ""
            }
        return Failure(.forbidden, .giveUp, "\(place) accepts the login of \(user), but refuses this request (401)\(reason).")
    }

    /// The failure if the instance redirects to a login page right after a login.
    /// - Parameter host: the host of the login page; nil for the instance itself.
    func loginPage(at place: String, on host: String?) -> Failure {
        let reason =
            switch way {
            case .password: "Basic authentication is not accepted for this account, or not for this interface"
            case .oauth, .bearer: "a token is not accepted for this account, or not for this interface, not even a new one"
            case .apiKey: "an API key is not accepted for this interface"
            case .certificate: "the certificate is not accepted for this interface"
            }
        guard let host else {
            return Failure(
                .sessionExpired, .retry(after: nil), "\(place) ended the session again right after a new login: \(reason).")
        }
        return Failure(.loginRequired, .pauseConnection, "\(place) redirects to \(host) for login: \(reason).")
    }

    /// The failure if the token endpoint returns the token that the instance has refused.
    func sameToken(at place: String, _ token: OAuthToken, at now: Timestamp) -> Failure {
        let left = token.expires.map { max($0 - now, .zero) + .seconds(1) }
        return Failure(
            .unauthenticated, .retry(after: left ?? .seconds(300)),
            "\(place) refuses the token of connection \(connection), and its token endpoint returns the same one again, "
                + "until that token expires.")
    }

    /// The failure if the instance recognizes another user than before.
    func wrongUser(at place: String, is user: String, instead known: String) -> Failure {
        let advice =
            switch identity {
            case .user: "Correct the login, or the `username` of the connection."
            case .placeholder:
                "The sources' state belongs to \(known). If this is intended, write `username: \(user)` under `auth`: "
                    + "the sources then start with a new baseline."
            }
        return Failure(
            .unauthenticated, .pauseConnection,
            "\(place) recognizes connection \(connection) as \(user), but it was \(known). \(advice)")
    }
}

/// The user that the instance recognizes, with the fields of its record that the account may read.
struct ServiceNowUser: Sendable, Hashable {
    var username: String
    /// This and the following are empty if they cannot be read.
    var name = ""
    var email = ""
    var sysID = ""

    var shown: String { name.isEmpty || name == username ? username : "\(name) (\(username))" }
}

/// Remembers the user of a login without a user name, to notice if the login later belongs to another user.
///
/// A class over a mutex, because the connection's sessions share what was read.
final class UserMemory: Sendable {
    private let key: String
    private let notebook: any Notebook
    private let latest = Mutex<String?>(nil)

    init(connection: String, instance: String, notebook: any Notebook) {
        key = "login-user/\(instance)/\(connection)"
        self.notebook = notebook
    }

    /// The user as last read or remembered since the start.
    var known: String? { latest.withLock { $0 } }

    func username() async throws -> String? {
        let username = try await notebook.note(key)?["username"]?.asString
        latest.withLock { $0 = username }
        return username
    }

    func remember(_ username: String) async throws {
        try await notebook.setNote(key, to: ["username": .string(username)])
        latest.withLock { $0 = username }
    }
}
