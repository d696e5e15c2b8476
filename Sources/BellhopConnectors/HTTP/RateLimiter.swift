public import BellhopCore
import Synchronization

/// Lets requests go no faster than a rate; those that must wait go in the order in which they came.
///
/// A class over a lock, because all requests of a connection share its one bucket.
public final class RateLimiter: Sendable {
    private let bucket: Mutex<TokenBucket>
    private let clock: any AgentClock

    public init(_ rate: Rate, clock: any AgentClock) {
        bucket = Mutex(TokenBucket(rate))
        self.clock = clock
    }

    /// Returns when the next request may go. A cancelled wait has used up its turn.
    public func wait() async throws(CancellationError) {
        let now = clock.now
        let slot = bucket.withLock { $0.take(at: now) }
        guard slot > now else { return }
        do {
            try await clock.sleep(until: slot)
        } catch {
            throw CancellationError()
        }
    }
}
