import Synchronization

/// Lets in only some at once; a class with a mutex, because they come on several threads.
final class Turnstile: Sendable {
    private let most: Int
    private let inside = Mutex(0)

    init(most: Int) { self.most = most }

    /// - Throws: 503 if there are enough inside.
    func enter() throws(Problem) -> Turnstile {
        let isLetIn = inside.withLock { inside in
            guard inside < most else { return false }
            inside += 1
            return true
        }
        guard isLetIn else { throw Problem(503, "\(most) others check or test rules now. Try again.", retryAfter: 2) }
        return self
    }

    func leave() { inside.withLock { $0 -= 1 } }
}
