public import BellhopCore
import Synchronization

/// Wakes one loop: others ring when there may be work, the loop waits for a ring or a moment. A ring during other work is kept,
/// so that work which arrives while the loop is looking is not missed. Many may ring, one waits.
///
/// A class over a mutex, because ringers and waiter share it.
public final class Bell: Sendable {
    private struct State {
        var rung = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    public init() {}

    /// Wakes the loop, or its next wait.
    public func ring() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            if state.waiter == nil { state.rung = true }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Returns after a ring, at the deadline, or when the task is cancelled.
    ///
    /// - Parameter stride: how often to check the clock meanwhile: if it was set back, the wait ends, so that the caller can
    ///   reconsider. Nil for no checks.
    public func wait(until deadline: Timestamp?, on clock: any AgentClock, stride: Duration? = nil) async {
        if heard() { return }
        guard let deadline else { return await listen() }
        await withTaskGroup { group in
            group.addTask { await self.listen() }
            group.addTask { try? await Self.sleep(until: deadline, on: clock, stride: stride) }  // throws only when cancelled
            await group.next()
            group.cancelAll()
        }
    }

    private static func sleep(until deadline: Timestamp, on clock: any AgentClock, stride: Duration?) async throws {
        guard let stride else { return try await clock.sleep(until: deadline) }
        var latest = clock.now
        while latest < deadline {
            try await clock.sleep(for: min(deadline - latest, stride))
            let now = clock.now
            if now < latest { return }
            latest = now
        }
    }

    /// True if there was a ring since the latest wait.
    private func heard() -> Bool {
        state.withLock { state in
            defer { state.rung = false }
            return state.rung
        }
    }

    /// Returns after a ring or when the task is cancelled.
    private func listen() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    if state.rung || Task.isCancelled {
                        state.rung = false
                        return true
                    }
                    precondition(state.waiter == nil, "a bell wakes one loop")
                    state.waiter = continuation
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
    }
}

/// The bells of one engine.
public struct Bells: Sendable {
    /// There may be events to route.
    public let router = Bell()
    /// There may be deliveries to make.
    public let dispatcher = Bell()
    /// The rules, and with them the timers, may have changed.
    public let timers = Bell()

    public init() {}
}
