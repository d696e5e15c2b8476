import BellhopCore
import Synchronization

/// Whether each source was polled once since the agent started, well or not.
///
/// A class over a mutex, because the pollers tell it and the timers wait for it.
public final class FirstLook: Sendable {
    /// A source that hangs keeps the timers back no longer than this.
    static let patience = Duration.seconds(60)

    private let missing: Mutex<Set<String>>

    public init(_ sources: [String]) { missing = Mutex(Set(sources)) }

    private var isOver: Bool { missing.withLock { $0.isEmpty } }

    func happened(at source: String, in surroundings: Surroundings) {
        missing.withLock { _ = $0.remove(source) }
        surroundings.bells.timers.ring()
    }

    /// Returns when all sources were looked at, when patience is at its end, or when the task is cancelled.
    func wait(in surroundings: Surroundings) async {
        let end = surroundings.clock.now + Self.patience
        while !isOver, !Task.isCancelled, surroundings.clock.now < end {
            await surroundings.bells.timers.wait(until: end, on: surroundings.clock)
        }
    }
}
