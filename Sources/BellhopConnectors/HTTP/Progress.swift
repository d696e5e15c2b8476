import NIOCore
import Synchronization

/// How far a request has come: whether the other side may have all of it.
///
/// A class, because the client hands the body over in a task of its own while the sender waits.
final class Progress: Sendable {
    private let handedOver: Atomic<Bool>
    private let hasAnswer = Atomic(false)
    let changesSomething: Bool
    /// Without a body nothing tells when the request went.
    let hasBody: Bool

    init(changesSomething: Bool, hasBody: Bool) {
        handedOver = Atomic(!hasBody)
        self.changesSomething = changesSomething
        self.hasBody = hasBody
    }

    func handOver() { handedOver.store(true, ordering: .releasing) }
    func answered() { hasAnswer.store(true, ordering: .releasing) }

    /// True once the body was asked for, which the client does when it has a connection; of a request without a body always.
    var mayHaveArrived: Bool { handedOver.load(ordering: .acquiring) || isAnswered }
    var isAnswered: Bool { hasAnswer.load(ordering: .acquiring) }
}

/// A body that notes when it is taken. It can be taken once, so that nothing below can send a request a second time by itself.
struct WatchedBody: AsyncSequence, Sendable {
    private let bytes: [UInt8]
    private let progress: Progress

    init(_ bytes: [UInt8], _ progress: Progress) {
        self.bytes = bytes
        self.progress = progress
    }

    func makeAsyncIterator() -> Iterator { Iterator(bytes: bytes, progress: progress) }

    struct Iterator: AsyncIteratorProtocol {
        var bytes: [UInt8]?
        let progress: Progress

        mutating func next() async -> ByteBuffer? {
            guard let body = bytes else { return nil }
            bytes = nil
            progress.handOver()
            return ByteBuffer(bytes: body)
        }
    }
}
