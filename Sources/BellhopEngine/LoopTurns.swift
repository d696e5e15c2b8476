import Synchronization

/// Since when each loop of the engine has been busy with one turn: a loop whose turn does not end hangs, and only a restart helps.
///
/// A class over a mutex, because every loop writes to it.
final class LoopTurns: Sendable {
    enum Loop: String, Sendable, Hashable, CaseIterable {
        case router, timers, dispatcher, maintenance
    }

    /// No turn takes this long, even with a slow disk.
    static let longest = Duration.seconds(300)

    private let began = Mutex<[Loop: Duration]>([:])

    /// - Parameter elapsed: the time by a clock that is never set.
    func begin(_ loop: Loop, at elapsed: Duration) { began.withLock { $0[loop] = elapsed } }

    /// The loop waits for something to do.
    func end(_ loop: Loop) { began.withLock { $0[loop] = nil } }

    func hanging(at elapsed: Duration) -> [Loop] {
        began.withLock { began in Loop.allCases.filter { loop in began[loop].map { elapsed - $0 > Self.longest } ?? false } }
    }
}
