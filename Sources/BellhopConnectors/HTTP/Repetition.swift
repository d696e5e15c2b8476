import BellhopCore

/// Whether a step's request may be sent again where nobody knows whether it was done, as `repeatable` says it.
///
/// A request that may not is held for a person then: nothing can be looked at that would tell.
struct Repetition: Sendable, Hashable {
    static let setting = Setting(
        "repeatable", .boolean,
        "Whether sending it twice is harmless; by default true for GET, HEAD, PUT and DELETE. Otherwise a request without an answer is held for a person."
    )

    var isAllowed: Bool

    init(isAllowed: Bool) { self.isAllowed = isAllowed }

    init(_ arguments: JSON.Object, method: String) {
        // PUT and DELETE done twice are done once (RFC 9110, section 9.2.2).
        isAllowed = Settings(arguments).boolean("repeatable") ?? !["POST", "PATCH"].contains(method)
    }

    /// Fails where an earlier attempt may have been received: its process ended, or it was stopped, before it knew.
    ///
    /// A person who retries a delivery has looked at what may have been received until then: that counts no more, however many attempts
    /// follow; what may be received later does.
    func check(_ attempt: Attempt, _ notebook: DeliveryNote) async throws(Failure) {
        guard !isAllowed, let uncertain = attempt.lastUncertain else { return }
        // A person's retry counts from 1 again.
        if attempt.number == 1 { return try await notebook.keep(["decided": .int(uncertain.microseconds)]) }
        if let decided = try await notebook.read()?["decided"]?.asInt, uncertain.microseconds <= decided { return }
        throw Failure(
            .notWritten, .hold,
            "An earlier attempt may have been received, and nothing can prove it: look there, then retry or drop the delivery. "
                + "Write `repeatable: true` for a request that bears repetition.")
    }

    /// What it means that there was no whole answer.
    func failure(of error: TransportError) -> Failure {
        var failure = error.failure(changesSomething: false)
        if !isAllowed, error.mayHaveArrived { hold(&failure) }
        return failure
    }

    /// The failure of an answer of this status, held where the request may have been done all the same.
    func weighed(_ failure: Failure, status: Int) -> Failure {
        // 501 and 503 say that it was not.
        guard !isAllowed, status >= 500, status != 501, status != 503 else { return failure }
        var failure = failure
        hold(&failure)
        return failure
    }

    /// The failure of an answer that does not tell whether it was done.
    func unclear(_ reason: Failure.Reason, _ message: String) -> Failure {
        var failure = Failure(reason, .retry(after: nil), message)
        if !isAllowed { hold(&failure) }
        return failure
    }

    private func hold(_ failure: inout Failure) {
        failure.remedy = .hold
        failure.message += " Whether it was done is not known, and it is not `repeatable`: look there, then retry or drop it."
    }
}
