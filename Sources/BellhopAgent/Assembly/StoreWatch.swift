import BellhopCore
import BellhopEngine
import Synchronization
public import ServiceLifecycle

/// Hears of the store's troubles: remembers the last for a status, and ends the agent when the store is lost.
///
/// A class over a mutex, because every loop tells of its own troubles and the control socket asks for them.
public final class StoreWatch: Service {
    /// A failure, and when it was.
    struct Trouble: Sendable, Hashable {
        var doing: String
        var error: StoreError
        var time: Timestamp
        var times = 1
    }

    private let clock: any AgentClock
    private let trouble = Mutex<Trouble?>(nil)
    private let lost = Bell()

    init(clock: any AgentClock) { self.clock = clock }

    /// The last trouble since the agent began.
    var last: Trouble? { trouble.withLock { $0 } }

    func hear(_ signal: Signal) {
        guard case .storeFailed(let doing, let error) = signal else { return }
        let now = clock.now
        trouble.withLock { trouble in
            trouble = Trouble(doing: doing, error: error, time: now, times: (trouble?.times ?? 0) + 1)
        }
        if error.kind == .lost { lost.ring() }
    }

    /// Throws when the store is lost; else waits for the agent's end.
    public func run() async throws {
        await cancelWhenGracefulShutdown { await self.lost.wait(until: nil, on: self.clock) }
        if let error = last?.error, error.kind == .lost { throw error }
    }
}
