import Synchronization

/// Limits how many requests do something at the same time. A class with a mutex, because requests run on several threads.
final class ConcurrencyLimit: Sendable {
    private let most: Int
    private let running = Mutex(0)

    init(most: Int) { self.most = most }

    /// - Throws: 503 if the limit is reached.
    func enter() throws(Problem) -> ConcurrencyLimit {
        let hasRoom = running.withLock { running in
            guard running < most else { return false }
            running += 1
            return true
        }
        guard hasRoom else { throw Problem(503, "\(most) others check or test rules now. Try again.", retryAfter: 2) }
        return self
    }

    func leave() { running.withLock { $0 -= 1 } }
}
