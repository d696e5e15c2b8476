public import BellhopCore
import Synchronization

/// Lets the requests of a connection go no faster than a rate.
///
/// A class over a lock, because polls and deliveries share the one rate of their connection.
public final class RateLimiter: Sendable {
    private let queue: Mutex<RateQueue>
    private let clock: any AgentClock
    let rate: Rate
    /// Who waits looks again after so long: a turn may have come back sooner.
    private static let stride = Duration.seconds(5)

    public init(_ rate: Rate, clock: any AgentClock) {
        self.rate = rate
        queue = Mutex(RateQueue(rate))
        self.clock = clock
    }

    /// Returns when the next request may go. A wait that is cancelled leaves its turn to others.
    public func wait() async throws(CancellationError) {
        let leave = Leave.current.flatMap { $0.limiter === self ? $0 : nil }
        if leave?.take() == true { return queue.withLock { $0.use(at: clock.now) } }
        let ticket = queue.withLock { $0.enter(isContinuing: leave != nil) }
        while true {
            let now = clock.now
            let (passes, next) = queue.withLock { ($0.passes(ticket, at: now), $0.bucket.next) }
            if passes { return }
            do {
                try await clock.sleep(for: min(max((next ?? .distantFuture) - now, .milliseconds(1)), Self.stride))
            } catch {
                queue.withLock { $0.leave(ticket, at: clock.now) }
                throw CancellationError()
            }
        }
    }

    /// What was set aside for the attempt that this task makes.
    private final class Leave: Sendable {
        @TaskLocal static var current: Leave?

        let limiter: RateLimiter
        private let left: Mutex<Int>

        init(_ limiter: RateLimiter, requests: Int) {
            self.limiter = limiter
            left = Mutex(requests)
        }

        func take() -> Bool {
            left.withLock { left in
                guard left > 0 else { return false }
                left -= 1
                return true
            }
        }

        func takeAll() -> Int {
            left.withLock { left in
                defer { left = 0 }
                return left
            }
        }
    }

    /// Gives back what was set aside for the attempt that this task makes, as before it waits for what others ask; it goes first when it
    /// asks again.
    static func giveBackWhatIsSetAside() {
        guard let leave = Leave.current else { return }
        leave.limiter.giveBack(leave)
    }

    private func giveBack(_ leave: Leave) {
        let left = leave.takeAll()
        if left > 0 { queue.withLock { $0.giveBack(left, at: clock.now) } }
    }

    /// The rate as deliveries see it, each attempt of which makes so many requests.
    public func attempts(of requests: Int) -> any AttemptRate { Share(limiter: self, requests: min(requests, rate.count)) }

    private struct Share: AttemptRate {
        let limiter: RateLimiter
        let requests: Int

        func reserve(upTo attempts: Int) -> Int {
            limiter.queue.withLock { $0.reserve(upTo: attempts, requests: requests, at: limiter.clock.now) }
        }

        func giveBack(_ attempts: Int) {
            limiter.queue.withLock { $0.giveBack(attempts * requests, at: limiter.clock.now) }
        }

        func setWaiting(_ isWaiting: Bool) {
            limiter.queue.withLock { $0.want(isWaiting ? requests : 0, at: limiter.clock.now) }
        }

        var next: Timestamp? { limiter.queue.withLock { $0.bucket.next } }

        func spend<Value: Sendable>(_ attempt: () async -> Value) async -> Value {
            let leave = Leave(limiter, requests: requests)
            let value = await Leave.$current.withValue(leave) { await attempt() }
            limiter.giveBack(leave)
            return value
        }
    }
}
