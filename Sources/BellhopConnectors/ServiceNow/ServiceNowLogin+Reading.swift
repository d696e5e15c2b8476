import BellhopCore

extension ServiceNowLogin {
    /// Login data that is not in bellhop.yaml.
    struct Kept: Sendable {
        /// The user whose password or tokens the keychain holds; nil when it holds none.
        var username: String?
        /// Called at each login; nil to use bellhop.yaml.
        var credentials: (@Sendable () async throws -> Credentials)?
    }

    /// - Parameters:
    ///   - username: `auth.username`.
    ///   - http: the exchange with the instance.
    init(
        _ auth: ServiceNowConnection.Auth, connection: String, username: String?, kept: Kept, http: HTTPConnection,
        tokens: @autoclosure () throws(ConnectorError) -> HTTPConnection, environment: ConnectorEnvironment
    ) throws(ConnectorError) {
        self.connection = connection
        func named(or standIn: String) -> Identity { username.map(Identity.user) ?? .standIn(standIn) }
        switch auth {
        case .basic(let credentials):
            way = .password(
                Account(connection: connection, username: credentials.username, credentials: kept.credentials ?? { credentials }))
            identity = .user(credentials.username)
        case .keychain:
            guard let user = kept.username, let credentials = kept.credentials else {
                throw .noLogin(of: connection)
            }
            way = .password(Account(connection: connection, username: user, credentials: credentials))
            identity = .user(user)
        case .oauth(let settings):
            way = .oauth(
                OAuthClient(settings, connection: connection, exchange: try tokens(), environment: environment))
            switch settings.grant {
            case .password(let username, _): identity = .user(username)
            // An assertion's subject may be an address or a number.
            case .jwt(let assertion): identity = named(or: assertion.subject)
            case .authorizationCode:
                identity = username.map(Identity.user) ?? kept.username.map(Identity.user) ?? .standIn("(oauth of \(connection))")
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
        guard !name.isEmpty, !name.hasPrefix("javascript:"), HeaderFields.isValue(name), !name.contains(":") else {
            throw ConnectorError(connection: connection, setting: "auth", "This is not a valid user name.")
        }
    }
}
