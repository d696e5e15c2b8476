import Synchronization

/// Lets one task through at a time, in order of arrival. A task cancelled while waiting leaves the queue.
///
/// A class over a lock, because tasks that are otherwise unrelated share it.
public final class FIFOGate: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [(ticket: Int, continuation: CheckedContinuation<Bool, Never>)] = []
        var lastTicket = 0
    }

    /// Releases a resource that the waiting task holds and the task inside the gate may need.
    ///
    /// A struct around the function: optimized by Swift 6.3, a program crashes when a task-local value is set whose type is a
    /// function.
    public struct Release: Sendable {
        fileprivate let run: @Sendable () -> Void

        public init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs when this task begins to wait.
    @TaskLocal public static var onWaiting: Release?

    private let state = Mutex(State())

    public init() {}

    /// Runs `work` when it is its turn.
    public func pass<Value>(_ work: () async throws -> Value) async throws -> Value {
        try await enter()
        defer { leave() }
        return try await work()
    }

    /// Waits for a turn, which ``leave()`` must end.
    public func enter() async throws(CancellationError) {
        guard await enter(heedsCancellation: true) else { throw CancellationError() }
    }

    /// Waits for a turn, which ``leave()`` must end, even when the task is cancelled.
    public func enterUncancelled() async { _ = await enter(heedsCancellation: false) }

    private func enter(heedsCancellation: Bool) async -> Bool {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known: Bool? = state.withLock { state in
                    if heedsCancellation, Task.isCancelled { return false }
                    if !state.isTaken {
                        state.isTaken = true
                        return true
                    }
                    state.waiting.append((ticket, continuation))
                    return nil
                }
                if let known { continuation.resume(returning: known) } else { Self.onWaiting?.run() }
            }
        } onCancel: {
            state.withLock { state -> CheckedContinuation<Bool, Never>? in
                guard heedsCancellation, let place = state.waiting.firstIndex(where: { $0.ticket == ticket }) else { return nil }
                return state.waiting.remove(at: place).continuation
            }?.resume(returning: false)
        }
    }

    public func leave() {
        state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst().continuation
        }?.resume(returning: true)
    }

    /// Runs `work` when its turn has come.
    public func inTurn<Value: Sendable>(_ work: () async throws(Failure) -> Value) async throws(Failure) -> Value {
        do {
            try await enter()
        } catch {
            throw Failure(.interrupted, .retry(after: nil), "The request was cancelled before it was sent.")
        }
        defer { leave() }
        return try await work()
    }
}
