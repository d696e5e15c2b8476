extension Failure {
    /// Where to look, in a sentence, for a failure that may well last; nil where its message says so itself and where it passes as a rule.
    public var advice: String? {
        switch reason {
        case .unreachable:
            "See that its address in bellhop.yaml is right and that this machine may go there; `bellhop doctor` looks at each step of the way."
        case .tls: "`bellhop doctor` tells which step of the way fails."
        case .timeout: "Where it is always as slow, give it a longer `timeout`."
        case .unexpectedPage, .badAnswer: "See that the address in bellhop.yaml is the one that was meant."
        case .cut, .gateway, .dropped, .quota, .throttled, .serverError, .hibernating, .unauthenticated, .forbidden,
            .sessionExpired,
            .loginRequired, .csrf, .mfaRequired, .apiMissing, .goneOrHidden, .tooLarge, .refused, .notWritten, .movedOn,
            .unrenderable,
            .expired, .budget, .stopped, .badArguments, .missingReceiver, .fileSystem, .interrupted:
            nil
        }
    }

    /// Whether it is nobody's mistake and the next try may well work.
    public var passesByItself: Bool {
        switch reason {
        case .timeout, .cut, .gateway, .dropped, .quota, .throttled, .serverError: true
        case .unreachable, .tls, .unexpectedPage, .badAnswer, .hibernating, .unauthenticated, .forbidden, .sessionExpired,
            .loginRequired,
            .csrf, .mfaRequired, .apiMissing, .goneOrHidden, .tooLarge, .refused, .notWritten, .movedOn, .unrenderable, .expired,
            .budget,
            .stopped, .badArguments, .missingReceiver, .fileSystem, .interrupted:
            false
        }
    }

    /// The message, and behind it the advice where there is any.
    public var advised: String { advice.map { "\(message) \($0)" } ?? message }
}
