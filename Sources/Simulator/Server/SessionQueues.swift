import BellhopCore
import Synchronization

/// The queues of the sessions: one request of a session runs at a time, some wait, more are refused.
///
/// A class over a lock, because the tasks of many connections meet here.
final class SessionQueues: Sendable {
    private struct Queue {
        let gate = FIFOGate()
        /// The running request and those that wait.
        var requests = 0
    }

    private let queues = Mutex<[Int: Queue]>([:])

    /// Runs the body when it is the session's turn.
    ///
    /// - Parameter onQueue: called if the request must wait.
    /// - Returns: nil if more than `limit` requests wait already.
    func run<Value: Sendable>(
        _ session: Int?, limit: Int, onQueue: @Sendable () -> Void, _ body: @Sendable () async throws -> Value
    ) async throws -> Value? {
        guard let session else { return try await body() }
        let place = queues.withLock { queues -> (gate: FIFOGate, waits: Bool)? in
            let queue = queues[session, default: Queue()]
            guard queue.requests <= limit else { return nil }
            queues[session, default: queue].requests += 1
            return (queue.gate, queue.requests > 0)
        }
        guard let place else { return nil }
        defer {
            queues.withLock { queues in
                queues[session]?.requests -= 1
                if queues[session]?.requests == 0 { queues[session] = nil }
            }
        }
        if place.waits { onQueue() }
        return try await place.gate.pass(body)
    }
}
