extension Failure {
    /// The next step for the user, in a sentence; nil if the message has it or the failure is usually temporary.
    public var advice: String? {
        switch reason {
        case .unreachable:
            "Check its address in bellhop.yaml and that this machine may connect to it; `bellhop doctor` checks each step."
        case .tls: "`bellhop doctor` shows which step fails."
        case .timeout: "If it is always this slow, set a longer `timeout`."
        case .unexpectedPage, .badAnswer: "Check the address in bellhop.yaml."
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
