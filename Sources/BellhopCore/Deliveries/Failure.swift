/// Why something outside did not work, and whether trying again can help.
public struct Failure: Error, Sendable, Hashable {
    public var reason: Reason
    public var remedy: Remedy
    /// One sentence for people: what happened and what to do. Holds no secret.
    public var message: String

    public init(_ reason: Reason, _ remedy: Remedy, _ message: String) {
        self.reason = reason
        self.remedy = remedy
        self.message = message
    }

    public enum Remedy: Sendable, Hashable {
        /// Trying again may help; not before this long, where the other side said so.
        case retry(after: Duration?)
        /// The receiver takes nothing for now and has done nothing: all of it rests, this long where the other side said so.
        case rest(Duration?)
        /// It will never work as it is.
        case giveUp
        /// It may have been done: look before trying again.
        case unknownOutcome
        /// It may have been done and nothing can prove or disprove it: a person decides.
        case hold
        /// Nothing on this connection will work until a person or its configuration changes something.
        case pauseConnection
    }

    /// What went wrong, by the name that metrics, `--json` and the documentation use.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        // Transport.
        case unreachable, timeout, tls, cut
        // Who we are.
        case unauthenticated, forbidden
        case sessionExpired = "session_expired"
        case loginRequired = "login_required"
        case csrf
        case mfaRequired = "mfa_required"
        // The state of the other side.
        case hibernating, gateway, dropped, quota, throttled
        case serverError = "server_error"
        // What it answered.
        case unexpectedPage = "unexpected_page"
        case apiMissing = "api_missing"
        case goneOrHidden = "gone_or_hidden"
        case badAnswer = "bad_answer"
        case tooLarge = "too_large"
        case refused
        case notWritten = "not_written"
        /// What it was to be done to is not as it was any more.
        case movedOn = "moved_on"
        // What we wanted.
        case unrenderable, expired, budget
        /// An earlier step of the rule, one with `on_error: stop`, was given up.
        case stopped
        case badArguments = "bad_arguments"
        case missingReceiver = "missing_receiver"
        case fileSystem = "file_system"
        case interrupted
    }
}
