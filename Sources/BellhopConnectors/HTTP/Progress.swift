import Synchronization

/// The progress of a request: whether the other side may have received all of it.
///
/// A class, because the client sends the body in its own task while the sender waits.
final class Progress: Sendable {
    private let handedOver: Atomic<Bool>
    private let hasAnswer = Atomic(false)

    init(hasBody: Bool) { handedOver = Atomic(!hasBody) }

    func handOver() { handedOver.store(true, ordering: .releasing) }
    func answered() { hasAnswer.store(true, ordering: .releasing) }

    /// True once the client requested the body, which it does when connected; always true for a request without a body.
    var mayHaveArrived: Bool { handedOver.load(ordering: .acquiring) || isAnswered }
    var isAnswered: Bool { hasAnswer.load(ordering: .acquiring) }
}
