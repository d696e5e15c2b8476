public import BellhopCore
import Synchronization

/// Wakes the loops that wait on it; it is rung when there may be work or news for them. Any number of tasks may ring and wait.
///
/// No ring is missed between looking for work and waiting: rings are counted, and a wait ends at once if the count has grown since the
/// task read it. A class over a mutex, because the tasks that ring and wait share it.
public final class Bell: Sendable {
    private struct State {
        var rings: UInt64 = 0
        /// How many rings the loop that owns the bell has seen.
        var seen: UInt64 = 0
        var lastWaiter: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    /// How often the bell has rung. Read this before looking for news, then wait for the next ring.
    public var rings: UInt64 { state.withLock { $0.rings } }

    /// Wakes all waiting tasks, and ends the next wait of the loop that owns the bell.
    public func ring() {
        let waiters = state.withLock { state in
            state.rings += 1
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Waits for a ring, the deadline or a cancellation. Only for the loop that owns the bell: a ring since its latest wait ends this one
    /// at once.
    ///
    /// - Parameter stride: how often to check the clock meanwhile: if it was set back, the wait ends, so that the caller can compute a
    ///   new deadline. Nil for no checks.
    public func wait(until deadline: Timestamp?, on clock: any AgentClock, stride: Duration? = nil) async {
        await wait(after: state.withLock { $0.seen }, until: deadline, on: clock, stride: stride)
        state.withLock { $0.seen = $0.rings }
    }

    /// The wait for all other tasks: returns once the bell has rung more than `rings` times.
    public func wait(after rings: UInt64, until deadline: Timestamp?, on clock: any AgentClock, stride: Duration? = nil) async {
        if self.rings > rings { return }
        guard let deadline else { return await listen(after: rings) }
        await withTaskGroup { group in
            group.addTask { await self.listen(after: rings) }
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

    /// Returns once the bell has rung more than `rings` times, or when the task is cancelled.
    private func listen(after rings: UInt64) async {
        let waiter = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    if state.rings > rings || Task.isCancelled { return true }
                    state.waiters[waiter] = continuation
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume()
        }
    }
}

/// The bells of one engine.
public struct Bells: Sendable {
    /// There may be new events on the bus. Commands that follow events wait for it too.
    public let router = Bell()
    /// There may be deliveries to make.
    public let dispatcher = Bell()
    /// The rules or the timers may have changed.
    public let timers = Bell()

    public init() {}
}

/// Wakes the poller of a source. A class with a mutex, because the poller and others share it.
public final class PollBell: Sendable {
    enum Request: Sendable { case soon, now }

    let bell = Bell()
    private let request = Mutex<Request?>(nil)

    public init() {}

    /// Asks for a poll at once, because something that the source was waiting for has changed.
    public func ringNow() { ring(.now) }

    /// Asks for a poll as soon as the plan's spacing, and any rest or wait after a failure, allow.
    public func ringSoon() { ring(.soon) }

    private func ring(_ new: Request) {
        request.withLock { if $0 != .now { $0 = new } }
        bell.ring()
    }

    /// Takes the most urgent request since the last call.
    func take() -> Request? {
        request.withLock { request in
            defer { request = nil }
            return request
        }
    }
}
