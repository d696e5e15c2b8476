import Synchronization

/// When each loop of the engine began its current turn. A loop whose turn does not end hangs; only a restart of the agent helps.
///
/// A class over a mutex, because every loop writes to it.
final class LoopTurns: Sendable {
    enum Loop: String, Sendable, Hashable, CaseIterable {
        case router, timers, dispatcher, maintenance
    }

    /// A loop hangs if its turn takes longer than this: even with a slow disk a turn ends sooner.
    static let longest = Duration.seconds(300)

    private let began = Mutex<[Loop: Duration]>([:])

    /// - Parameter elapsed: the time of a monotonic clock.
    func begin(_ loop: Loop, at elapsed: Duration) { began.withLock { $0[loop] = elapsed } }

    /// Call this when the loop begins to wait for work.
    func end(_ loop: Loop) { began.withLock { $0[loop] = nil } }

    func hanging(at elapsed: Duration) -> [Loop] {
        began.withLock { began in Loop.allCases.filter { loop in began[loop].map { elapsed - $0 > Self.longest } ?? false } }
    }
}
