import BellhopCore

extension ServiceNowLogin {
    /// The instance answers 401 to the credentials just sent.
    func refusal(at place: String) -> Failure {
        let again = "Bellhop will not retry it until you change it or run `bellhop login \(connection)`."
        let message =
            switch way {
            case .password:
                "\(place) refuses the password of \(identity.text) (401). \(again) If the password is right, the instance may not allow Basic "
                    + "authentication for this account (role snc_basic_auth_api_access), or require a second factor: "
                    + "run `bellhop login \(connection)` once that is fixed."
            case .oauth(let client):
                "\(place) refuses a token that \(client.settings.tokenAddress.place) has just given connection \(connection) (401): "
                    + "the token is of another instance, its scope does not cover the REST API, or its user may not log in."
            case .bearer:
                "\(place) refuses the bearer token of connection \(connection) (401): it has expired or was revoked. \(again) "
                    + "Bellhop can only renew tokens obtained by `oauth`."
            case .apiKey:
                "\(place) refuses the API key of connection \(connection) (401): it has expired, or the instance has no inbound "
                    + "authentication profile and REST API Access Policy that take it for the Table API (sys_user). \(again)"
            case .certificate:
                "\(place) does not know the certificate of connection \(connection) (401): it must be registered there for a user, "
                    + "and mutual authentication be switched on. \(again)"
            }
        return Failure(.unauthenticated, .pauseConnection, message)
    }

    /// The instance accepts the login but answers 401 to a request.
    func outOfBounds(at place: String, user: String) -> Failure {
        let reason =
            switch way {
            case .apiKey: ": its REST API Access Policy may not cover this API"
            case .oauth, .bearer: ": the token's scope may not cover this API"
            case .password, .certificate: ""
            }
        return Failure(
            .forbidden, .giveUp, "\(place) accepts the login of \(user), but refuses this request (401)\(reason).")
    }

    /// The instance redirects to a login page even right after a login.
    func loginPage(at place: String, leadsTo host: String?) -> Failure {
        let whom = host.map { "to \($0) for login" } ?? "to its login page"
        let reason =
            switch way {
            case .password: "Basic authentication is not accepted for this account, or not for this interface"
            case .oauth, .bearer: "a token is not accepted for this account, or not for this interface, not even a new one"
            case .apiKey: "an API key is not accepted for this interface"
            case .certificate: "the certificate is not accepted for this interface"
            }
        return host == nil
            ? Failure(.sessionExpired, .retry(after: nil), "\(place) ended the session again right after a new login: \(reason).")
            : Failure(.loginRequired, .pauseConnection, "\(place) redirects \(whom): \(reason).")
    }

    /// The token endpoint issues a token that the instance refuses.
    func sameToken(at place: String, _ token: OAuthToken, at now: Timestamp) -> Failure {
        let left = token.expires.map { max($0 - now, .zero) + .seconds(1) }
        return Failure(
            .unauthenticated, .retry(after: left ?? .seconds(300)),
            "\(place) refuses the token of connection \(connection), and its token endpoint returns the same one again, "
                + "until that token expires.")
    }

    /// The instance recognizes another user than before.
    func stranger(at place: String, is user: String, instead known: String) -> Failure {
        let advice =
            switch identity {
            case .user: "Correct the login, or the `username` of the connection."
            case .standIn:
                "The sources' state belongs to \(known). If this is intended, write `username: \(user)` under `auth`: "
                    + "the sources then start with a new baseline."
            }
        return Failure(
            .unauthenticated, .pauseConnection,
            "\(place) recognizes connection \(connection) as \(user), but it was \(known). \(advice)")
    }
}
