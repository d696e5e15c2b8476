/// Why an external operation failed, and whether retrying can help.
public struct Failure: Error, Sendable, Hashable {
    public var reason: Reason
    public var remedy: Remedy
    /// One sentence for people: what happened and what to do. Holds no secret.
    public var message: String
    /// The rest that the receiver asks for although the outcome is unknown, or some recipients have the message. The remedy `.rest`
    /// contains its own length.
    public var rest: Duration?
    /// False if another host than the receiver's failed, or one program of `exec`, so that the failure says nothing about the receiver.
    public var concernsReceiver = true
    /// The conversation that the message begins although it failed, because some recipients have it. Stored once the delivery is given up.
    public var conversation: ConversationChange?

    public init(_ reason: Reason, _ remedy: Remedy, _ message: String) {
        (self.reason, self.remedy, self.message) = (reason, remedy, message)
    }

    /// The failure of a delivery that expires.
    public static func notSent(before expires: Timestamp) -> Failure {
        Failure(.expired, .giveUp, "It could not be sent before \(expires), so it expired.")
    }

    /// Why a message that is kept back is dropped when its conversation is closed or acknowledged.
    public static let settled = Failure(
        .movedOn, .giveUp, "Its conversation was closed or acknowledged before it could be sent.")

    /// Why a message of an escalation that is kept back is dropped when the escalation closes it.
    public static let escalationEnded = Failure(
        .movedOn, .giveUp, "The escalation that it belongs to ended before it could be sent.")

    /// Why a message is not sent that would undo what a newer one of its conversation did.
    public static let outdated = Failure(
        .movedOn, .giveUp, "A newer message of its conversation was sent, so this one is no longer right.")

    /// The rest that the receiver asks for, with its length if the receiver names one; nil if it asks for no rest.
    public var requestedRest: Duration?? {
        if case .rest(let wait) = remedy { return .some(wait) }
        return rest.map { .some($0) }
    }

    /// The failure of the receiver's own host, or of another: that one neither rests, pauses nor breaks the receiver's circuit.
    public func from(ownHost isOwn: Bool) -> Failure {
        if isOwn { return self }
        var failure = self
        if case .rest(let wait) = remedy { failure.remedy = .retry(after: wait) }
        failure.rest = nil
        failure.concernsReceiver = false
        return failure
    }

    public enum Remedy: Sendable, Hashable {
        /// Retrying may help; not before this long, if the other side said so.
        case retry(after: Duration?)
        /// The receiver accepts nothing for now and has done nothing: all its deliveries rest, this long if the other side said
        /// so.
        case rest(Duration?)
        /// It will never work unchanged.
        case giveUp
        /// It may have been done: check this before retrying.
        case unknownOutcome
        /// It may have been done, and nothing can prove or disprove it: a person decides.
        case hold
        /// Nothing on this connection will work until a person or its configuration changes something.
        case pauseConnection
        /// The receiver accepts nothing, and has done nothing, until a person repairs it: its address is gone, or its token is not
        /// accepted. All its deliveries wait until a person resumes it.
        case pauseReceiver
    }

    /// The kind of failure, by the name used in metrics, `--json` and the documentation.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        // Transport.
        case unreachable, timeout, tls, cut
        // Authentication.
        case unauthenticated, forbidden
        case sessionExpired = "session_expired"
        case loginRequired = "login_required"
        case csrf
        case mfaRequired = "mfa_required"
        // The state of the other side.
        case hibernating, gateway, dropped, quota, throttled
        case serverError = "server_error"
        // Its answer.
        case unexpectedPage = "unexpected_page"
        case apiMissing = "api_missing"
        case goneOrHidden = "gone_or_hidden"
        case badAnswer = "bad_answer"
        case tooLarge = "too_large"
        case refused
        case notWritten = "not_written"
        /// The target has changed in the meantime.
        case movedOn = "moved_on"
        // Our own request.
        case unrenderable, expired, budget
        /// A quiet time drops it.
        case quiet
        /// An earlier step of the rule, one with `on_error: stop`, was given up.
        case stopped
        case badArguments = "bad_arguments"
        case missingReceiver = "missing_receiver"
        case fileSystem = "file_system"
        case interrupted
    }
}

extension Failure {
    /// The next step for the user, in a sentence; nil if the message has it or the failure is usually temporary.
    public var advice: String? {
        switch reason {
        case .unreachable:
            "Check its address in bellhop.yaml and that this machine may connect to it; `bellhop doctor` checks each step."
        case .tls: "`bellhop doctor` shows which step fails."
        case .timeout: "If it is always this slow, set a longer `timeout`."
        case .unexpectedPage: "Check the address in bellhop.yaml."
        case .badAnswer: "Check the address and what is to be read there in bellhop.yaml."
        case .cut, .gateway, .dropped, .quota, .throttled, .serverError, .hibernating, .unauthenticated, .forbidden,
            .sessionExpired, .loginRequired, .csrf, .mfaRequired, .apiMissing, .goneOrHidden, .tooLarge, .refused,
            .notWritten, .movedOn, .unrenderable, .expired, .budget, .quiet, .stopped, .badArguments, .missingReceiver,
            .fileSystem, .interrupted:
            nil
        }
    }

    /// Whether the next attempt may succeed without a change.
    public var isTemporary: Bool {
        switch reason {
        case .timeout, .cut, .gateway, .dropped, .quota, .throttled, .serverError: true
        case .unreachable, .tls, .unexpectedPage, .badAnswer, .hibernating, .unauthenticated, .forbidden, .sessionExpired,
            .loginRequired, .csrf, .mfaRequired, .apiMissing, .goneOrHidden, .tooLarge, .refused, .notWritten, .movedOn,
            .unrenderable, .expired, .budget, .quiet, .stopped, .badArguments, .missingReceiver, .fileSystem, .interrupted:
            false
        }
    }

    /// The message, followed by the advice if any.
    public var advised: String { advice.map { "\(message) \($0)" } ?? message }
}
