import BellhopCore
import Synchronization

/// The outcome of an attempt, and how long it took.
struct Ended: Sendable {
    var claim: Claim
    var outcome: Outcome
    var took: Duration
    /// When it ended.
    var at: Timestamp
}

/// The ended attempts whose outcomes are not stored yet: one task stores all that have come meanwhile.
///
/// A class over a mutex, because attempts end in tasks of their own.
final class Endings: Sendable {
    private let state = Mutex<(waiting: [Ended], isTaken: Bool)>(([], false))

    /// Adds one. True if the caller must see to it that ``take()`` is called until it returns nil.
    func add(_ ended: Ended) -> Bool {
        state.withLock { state in
            state.waiting.append(ended)
            defer { state.isTaken = true }
            return !state.isTaken
        }
    }

    /// All that wait; nil if none does.
    func take() -> [Ended]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil
            }
            defer { state.waiting = [] }
            return state.waiting
        }
    }
}
