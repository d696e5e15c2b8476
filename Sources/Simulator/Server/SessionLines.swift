import BellhopCore
import Synchronization

/// The queues of the sessions: one request of a session runs at a time, some wait, more are refused.
///
/// A class over a lock, because the tasks of many connections meet here.
final class SessionLines: Sendable {
    private struct Line {
        let gate = FIFOGate()
        /// The running request and those that wait.
        var requests = 0
    }

    private let lines = Mutex<[Int: Line]>([:])

    /// Runs the body when it is the session's turn.
    ///
    /// - Parameter onQueue: called if the request must wait.
    /// - Returns: nil if more than `limit` requests wait already.
    func run<Value: Sendable>(
        _ session: Int?, limit: Int, onQueue: @Sendable () -> Void, _ body: @Sendable () async throws -> Value
    ) async throws -> Value? {
        guard let session else { return try await body() }
        let place = lines.withLock { lines -> (gate: FIFOGate, waits: Bool)? in
            let line = lines[session, default: Line()]
            guard line.requests <= limit else { return nil }
            lines[session, default: line].requests += 1
            return (line.gate, line.requests > 0)
        }
        guard let place else { return nil }
        defer {
            lines.withLock { lines in
                lines[session]?.requests -= 1
                if lines[session]?.requests == 0 { lines[session] = nil }
            }
        }
        if place.waits { onQueue() }
        return try await place.gate.pass(body)
    }
}
