import BellhopCore

/// How a connection shows an instance who it is.
struct ServiceNowLogin: Sendable {
    enum Way: Sendable {
        case password(Account)
        case oauth(OAuthClient)
        case bearer(String)
        case apiKey(String)
        /// Shown by TLS; here is what tells one certificate from another.
        case certificate(String)
    }

    /// Who we say that we are, before the instance has said whom it takes us for.
    enum Identity: Sendable, Hashable {
        /// The account's user name: whoever else the instance takes us for is refused.
        case user(String)
        /// A name for somebody whom only the instance knows. It stays the same over restarts, renewed tokens and changed keys, since
        /// what sources remember belongs to it.
        case standIn(String)

        var text: String {
            switch self {
            case .user(let text), .standIn(let text): text
            }
        }
    }

    /// What is shown to be let in. Never prints itself.
    struct Pass: Sendable, CustomStringConvertible, CustomReflectable {
        var headers: HeaderFields = [:]
        /// What a refusal is remembered of.
        var credentials: Credentials
        var token: OAuthToken?

        var description: String { "Pass(\(credentials.username))" }
        var customMirror: Mirror { Mirror(self, children: []) }
    }

    var connection: String
    var way: Way
    var identity: Identity

    /// Whether the instance is asked whom it takes us for; a user name and its password say it themselves.
    var asksForUser: Bool {
        switch way {
        case .password: false
        case .oauth, .bearer, .apiKey, .certificate: true
        }
    }

    /// Whether every request shows it, not only the one that opens a session: an API key counts for some paths only.
    var isShownAlways: Bool {
        switch way {
        case .apiKey: true
        case .password, .oauth, .bearer, .certificate: false
        }
    }

    var oauth: OAuthClient? { if case .oauth(let client) = way { client } else { nil } }

    /// What to show now.
    ///
    /// - Parameters:
    ///   - stale: a token whose session ended, or that was refused: another is asked for.
    ///   - force: ask the token endpoint even with what it has refused.
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
