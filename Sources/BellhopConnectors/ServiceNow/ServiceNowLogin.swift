import BellhopCore

/// How a connection authenticates to an instance.
struct ServiceNowLogin: Sendable {
    enum Way: Sendable {
        case password(Account)
        case oauth(OAuthClient)
        case bearer(String)
        case apiKey(String)
        /// Sent by TLS; this text distinguishes certificates.
        case certificate(String)
    }

    /// The claimed identity, before the instance has named the user.
    enum Identity: Sendable, Hashable {
        /// The account's user name; if the instance names another, the login fails.
        case user(String)
        /// A placeholder for a user whom only the instance knows. It is stable over restarts, renewed tokens and changed keys,
        /// because the sources' state belongs to it.
        case standIn(String)

        var text: String {
            switch self {
            case .user(let text), .standIn(let text): text
            }
        }
    }

    /// The credentials to send. Never prints itself.
    struct Pass: Sendable, CustomStringConvertible, CustomReflectable {
        var headers: HeaderFields = [:]
        /// Identifies a refused login.
        var credentials: Credentials
        var token: OAuthToken?

        var description: String { "Pass(\(credentials.username))" }
        var customMirror: Mirror { Mirror(self, children: []) }
    }

    var connection: String
    var way: Way
    var identity: Identity

    /// Whether to ask the instance for the user's name; a user name and password already tell it.
    var asksForUser: Bool {
        switch way {
        case .password: false
        case .oauth, .bearer, .apiKey, .certificate: true
        }
    }

    /// Whether to send it with every request, not only the first: an API key is valid for some paths only.
    var isShownAlways: Bool {
        switch way {
        case .apiKey: true
        case .password, .oauth, .bearer, .certificate: false
        }
    }

    var oauth: OAuthClient? { if case .oauth(let client) = way { client } else { nil } }

    /// The credentials to send now.
    ///
    /// - Parameters:
    ///   - stale: a token whose session ended or that was refused: another is requested.
    ///   - force: call the token endpoint even with credentials it has refused.
    func pass(renewing stale: OAuthToken? = nil, force: Bool = false) async throws(Failure) -> Pass {
        switch way {
        case .password(let account):
            let current = try await account.current()
            return Pass(headers: ["Authorization": current.authorization], credentials: current)
        case .oauth(let client):
            let token = try await client.authorization(renewing: stale, force: force)
            return Pass(
                headers: ["Authorization": token.authorization],
                credentials: Credentials(username: client.settings.clientID, password: token.text), token: token)
        case .bearer(let token):
            return Pass(
                headers: ["Authorization": "Bearer " + token],
                credentials: Credentials(username: "bearer", password: token, mark: identity.text))
        case .apiKey(let key):
            return Pass(
                headers: ["x-sn-apikey": key], credentials: Credentials(username: "api_key", password: key, mark: identity.text))
        case .certificate(let fingerprint):
            return Pass(credentials: Credentials(username: "certificate", password: fingerprint, mark: identity.text))
        }
    }
}
