import Synchronization

/// The queues of the sessions: one request of a session runs at a time, some wait, more are refused.
///
/// A class over a lock, because the tasks of many connections meet here.
final class SessionLines: Sendable {
    enum Turn: Sendable {
        case run(waited: Bool)
        case tooMany
    }

    private struct Line {
        var waiting: [(ticket: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private struct State {
        /// A session has a line while one of its requests runs.
        var lines: [Int: Line] = [:]
        var lastTicket = 0
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())

    /// Runs the body when it is the session's turn.
    ///
    /// - Parameter onQueue: called if the request must wait.
    /// - Returns: nil if more than `limit` requests wait already.
    func run<Value: Sendable>(
        _ session: Int?, limit: Int, onQueue: @Sendable () -> Void, _ body: @Sendable () async throws -> Value
    ) async throws -> Value? {
        guard let session else { return try await body() }
        guard try await enter(session, limit: limit, onQueue: onQueue) else { return nil }
        defer { leave(session) }
        return try await body()
    }

    private func enter(_ session: Int, limit: Int, onQueue: @Sendable () -> Void) async throws -> Bool {
        enum Place { case first, waits(Int), none }
        let place: Place = state.withLock { state in
            guard let line = state.lines[session] else {
                state.lines[session] = Line()
                return .first
            }
            guard line.waiting.count < limit else { return .none }
            state.lastTicket += 1
            return .waits(state.lastTicket)
        }
        switch place {
        case .first: return true
        case .none: return false
        case .waits(let ticket):
            onQueue()
            let isRunning = await wait(ticket, for: session)
            // Removes the mark of a cancellation that came too late.
            _ = state.withLock { $0.cancelled.remove(ticket) }
            if !isRunning { throw CancellationError() }
            return true
        }
    }

    /// False if the task was cancelled before its turn.
    private func wait(_ ticket: Int, for session: Int) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known: Bool? = state.withLock { state in
                    if state.cancelled.remove(ticket) != nil { return false }
                    guard state.lines[session] != nil else {
                        // The running one has left since we looked.
                        state.lines[session] = Line()
                        return true
                    }
                    state.lines[session]?.waiting.append((ticket, continuation))
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
                guard let index = state.lines[session]?.waiting.firstIndex(where: { $0.ticket == ticket }) else {
                    state.cancelled.insert(ticket)
                    return nil
                }
                return state.lines[session]?.waiting.remove(at: index).continuation
            }
            waiter?.resume(returning: false)
        }
    }

    private func leave(_ session: Int) {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard let line = state.lines[session], !line.waiting.isEmpty else {
                state.lines[session] = nil
                return nil
            }
            return state.lines[session]?.waiting.removeFirst().continuation
        }
        next?.resume(returning: true)
    }
}
