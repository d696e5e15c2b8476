import BellhopCore

extension OAuthClient {
    /// The failure of a refused assertion if the clocks differ: its times may be why, so it is tried again later. Nil if they agree, if the
    /// server does not say its time, or for another grant.
    nonisolated func clockFailure(_ response: HTTPResponse, at now: Timestamp) -> Failure? {
        guard case .jwt = settings.grant, let date = response.headers["Date"].flatMap({ Timestamp(httpDate: $0) }) else {
            return nil
        }
        let ahead = now - date
        let difference = ahead < .zero ? .zero - ahead : ahead
        guard difference > .seconds(60) else { return nil }
        return Failure(
            .unauthenticated, .retry(after: .seconds(300)),
            "\(settings.tokenAddress.place) gave no token to connection \(connection) (\(response.status)), and this machine's clock is "
                + "\(difference.components.seconds) s \(ahead < .zero ? "behind" : "ahead of") the server's: synchronize it with a time server."
        )
    }

    static func words(_ status: Int, _ reason: String) -> String { reason.isEmpty ? "\(status)" : "\(status), \(reason)" }

    /// Says how a person can fix it. Servers give the same reason for all causes, so all remedies are listed.
    static func advice(_ grant: OAuthSettings.GrantName, _ connection: String) -> String {
        let again = "Bellhop will not ask again until you change the login or run `bellhop login \(connection)`."
        return switch grant {
        case .password:
            "the client's id or secret, or the user's name or password is wrong, the user is locked, or the grant is disabled there. \(again)"
        case .refreshToken:
            "the refresh token has expired or was replaced, or the client's id or secret is wrong. Put a new refresh token into bellhop.yaml. \(again)"
        case .clientCredentials:
            "the client's id or secret is wrong, or the grant is disabled there, or no user is set for it there. \(again)"
        case .jwt:
            "the client, the key, the subject or the audience is not what the server has registered, or the clocks differ. \(again)"
        case .authorizationCode:
            "the authorization has expired or was revoked, or the client's id or secret is wrong. Run `bellhop login \(connection)`."
        }
    }
}
