import BellhopCore

/// Whether a step's request may be sent again after an unknown outcome, as set by `repeatable`.
///
/// If not, it is held for a person, because no lookup can find out the outcome.
struct Repetition: Sendable, Hashable {
    static let setting = Setting(
        "repeatable", .boolean,
        "Whether sending it twice is harmless; by default true for GET, HEAD, PUT and DELETE. Otherwise a request without an answer is held for a person."
    )

    var isAllowed: Bool

    init(isAllowed: Bool) { self.isAllowed = isAllowed }

    init(_ arguments: JSON.Object, method: String) {
        // PUT and DELETE are idempotent (RFC 9110, section 9.2.2).
        isAllowed = Settings(arguments).boolean("repeatable") ?? !["POST", "PATCH"].contains(method)
    }

    /// Fails if an earlier attempt may have been received, because it or its process was stopped before the outcome was known.
    func check(_ delivery: Delivery, _ attempt: Attempt, at place: String, _ notebook: any Notebook) async throws(Failure) {
        guard !isAllowed, attempt.lastUncertain != nil else { return }
        let note = try await DeliveryNote(of: delivery, in: notebook).read(at: attempt)
        let why = "nothing can prove it (`repeatable: true` is for a request that may be sent twice)"
        _ = try WriteRules(noun: "request", place: place, quiet: .zero)
            .step(after: .unprovable(why), note, attempt).receipt
    }

    /// The failure for a missing or incomplete answer.
    func failure(of error: TransportError) -> Failure {
        var failure = error.failure(changesSomething: false)
        if !isAllowed, error.mayHaveArrived { hold(&failure) }
        return failure
    }

    /// The failure of an answer with this status, held if the request may have been carried out.
    func holdingIfUncertain(_ failure: Failure, status: Int) -> Failure {
        // 501 and 503 mean that it was not.
        guard !isAllowed, status >= 500, status != 501, status != 503 else { return failure }
        var failure = failure
        hold(&failure)
        return failure
    }

    /// The failure of an answer, or of a run, that does not show whether the work was carried out.
    func uncertain(_ reason: Failure.Reason, _ message: String) -> Failure {
        var failure = Failure(reason, .retry(after: nil), message)
        if !isAllowed { hold(&failure) }
        return failure
    }

    private func hold(_ failure: inout Failure) {
        failure.remedy = .hold
        failure.message += " Whether it was carried out is unknown, and it is not `repeatable`: look there, then retry or drop."
    }
}
