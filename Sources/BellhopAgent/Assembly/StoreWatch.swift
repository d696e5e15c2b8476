import BellhopCore
import BellhopEngine
import Synchronization
public import ServiceLifecycle

/// Follows the store's failures: keeps the latest for `bellhop status`, and ends the agent when the store is lost.
///
/// A class over a mutex, because every loop reports failures and the control socket reads them.
public final class StoreWatch: Service {
    /// A failure and its time.
    struct Problem: Sendable, Hashable {
        var doing: String
        var error: StoreError
        var time: Timestamp
        var times = 1

        /// Whether the problem can end by itself, so that the store accepts changes again.
        var isCurable: Bool { error.kind == .full || error.kind == .busy }
    }

    /// For this time, the latest failure means that the store is failing. One that lies ahead is from before the clock was set back.
    static let recent = Duration.zero..<Duration.seconds(600)

    private let clock: any AgentClock
    private let problem = Mutex<Problem?>(nil)
    private let lost = Bell()

    init(clock: any AgentClock) { self.clock = clock }

    /// The latest failure since the agent's start.
    var last: Problem? { problem.withLock { $0 } }

    /// Whether the store failed lately and still accepts no changes.
    func isFailing(_ store: any Store) async -> Bool {
        guard let last, Self.recent.contains(clock.now - last.time) else { return false }
        return last.isCurable ? !(await Self.accepts(store, at: clock.now)) : true
    }

    static func accepts(_ store: any Store, at now: Timestamp) async -> Bool {
        (try? await store.setNote("store/checked", to: .string(now.rfc3339))) != nil
    }

    func record(_ signal: Signal) {
        guard case .storeFailed(let doing, let error, let times) = signal else { return }
        let now = clock.now
        problem.withLock { problem in
            let times = (problem?.times ?? 0) + times
            // The loss ends the agent, so later failures, which follow from it, are only counted.
            if problem?.error.kind == .lost, error.kind != .lost {
                problem?.times = times
            } else {
                problem = Problem(doing: doing, error: error, time: now, times: times)
            }
        }
        if error.kind == .lost { lost.ring() }
    }

    /// Throws when the store is lost; otherwise returns when the agent stops.
    public func run() async throws {
        await cancelWhenGracefulShutdown { await self.lost.wait(until: nil, on: self.clock) }
        if let error = last?.error, error.kind == .lost { throw error }
    }
}
