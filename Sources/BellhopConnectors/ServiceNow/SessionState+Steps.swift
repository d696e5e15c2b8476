import BellhopCore

/// The steps of a request in a session: what to do next, and what the server answered.
extension SessionState {
    /// What to do if the session ends during a request.
    enum OnSessionEnd: Sendable {
        /// Resend it after a new login.
        case resend
        /// Let the caller decide whether to resend it after a new login.
        case report
        /// Fail, because it was already resent.
        case stop
    }

    /// The result of a request.
    enum Answer: Sendable {
        case reply(ServiceNowReply)
        /// The server asked for a login: the session is over.
        case loginWanted
        /// The server asked for the session's token (CSRF), which is sent from now on.
        case tokenWanted
    }

    enum Step: Sendable {
        /// Send the request; then call ``received(_:at:)``.
        case send(HTTPRequest, changesSomething: Bool)
        /// Log in; then call ``resume(at:)``.
        case logIn(renewing: OAuthToken?)
        /// Renew this token, which ends soon; then call ``renewed(_:at:)``.
        case renew(OAuthToken)
        /// Get the credentials; then call ``sendCredentials(_:at:)``.
        case sendCredentials
        case done(Answer)
        case fail(Failure)
    }

    enum LoginStep: Sendable {
        /// Send the request; then call ``receivedLogin(_:at:)`` or ``loginFailed(_:)``.
        case send(HTTPRequest)
        /// Renew this token, which was refused; then call ``sendLogin(_:at:)``.
        case renew(OAuthToken)
        /// Check that this is the same user as before; then call ``completeLogin(_:at:)`` or ``loginFailed(_:)``.
        case checkUser(ServiceNowUser)
        case loggedIn(ServiceNowUser)
        /// - Parameter blocks: whether to remember the credentials, so that they are not retried. False for tokens, because retrying
        ///   them does not lock the account.
        case failed(Failure, blocks: Bool)
    }

    /// Why the server ended the session.
    struct Ending: Sendable, Hashable {
        var reason: String
        var code: Failure.Reason
    }
}
