import BellhopCore
import Synchronization

/// An attempt with its outcome and duration.
struct EndedAttempt: Sendable {
    var claim: Claim
    var outcome: Outcome
    var took: Duration
    /// When it ended.
    var at: Timestamp
}

/// The ended attempts whose outcomes are not stored yet. While the dispatcher claims, it stores them together with its claims;
/// otherwise the caller of ``next()`` stores them.
///
/// A class over a mutex, because attempts end in tasks of their own.
final class EndedAttempts: Sendable {
    fileprivate struct State {
        var waiting: [EndedAttempt] = []
        /// Attempts that began, and whose outcome was neither stored nor given up.
        var open = 0
        var isClaiming = false
        var waiter: CheckedContinuation<[EndedAttempt]?, Never>?
    }

    private let state = Mutex(State())

    /// Whether outcomes wait.
    var isEmpty: Bool { state.withLock { $0.waiting.isEmpty } }

    /// Records that this many attempts begin.
    func expect(_ count: Int) { state.withLock { $0.open += count } }

    /// Records that the outcomes of this many attempts were stored or given up.
    func settle(_ count: Int) {
        let waiter = state.withLock { state in
            state.open -= count
            return state.open == 0 ? state.takeWaiter() : nil
        }
        waiter?.resume(returning: nil)
    }

    /// Adds an ended attempt. True if the dispatcher should wake to store its outcome.
    func add(_ ended: EndedAttempt) -> Bool {
        let (isFirst, waiter, batch) = state.withLock { state in
            state.waiting.append(ended)
            if state.isClaiming {
                return (state.waiting.count == 1, nil as CheckedContinuation<[EndedAttempt]?, Never>?, [EndedAttempt]())
            }
            guard let waiter = state.takeWaiter() else { return (false, nil, []) }
            return (false, waiter, state.takeAll())
        }
        waiter?.resume(returning: batch)
        return isFirst
    }

    /// From now on the dispatcher stores the outcomes (``take()``).
    func beginClaiming() { state.withLock { $0.isClaiming = true } }

    func endClaiming() { state.withLock { $0.isClaiming = false } }

    /// Takes all ended attempts.
    func take() -> [EndedAttempt] { state.withLock { $0.takeAll() } }

    /// Waits until an attempt has ended, and takes all ended attempts; nil if no attempt is open. Only one caller at a time may wait,
    /// and only while the dispatcher does not claim. Cancelling the task has no effect, because every outcome must be stored.
    func next() async -> [EndedAttempt]? {
        await withCheckedContinuation { continuation in
            let found: [EndedAttempt]?? = state.withLock { state in
                if !state.waiting.isEmpty { return state.takeAll() }
                if state.open == 0 { return .some(nil) }
                state.waiter = continuation
                return .none
            }
            if let found { continuation.resume(returning: found) }
        }
    }
}

extension EndedAttempts.State {
    fileprivate mutating func takeAll() -> [EndedAttempt] {
        defer { waiting = [] }
        return waiting
    }

    fileprivate mutating func takeWaiter() -> CheckedContinuation<[EndedAttempt]?, Never>? {
        defer { waiter = nil }
        return waiter
    }
}
