public import BellhopCore
import Synchronization

/// Limits the rate of a connection's requests.
///
/// A class with a lock, because polls and deliveries share their connection's rate.
public final class RateLimiter: Sendable {
    private let queue: Mutex<RateQueue>
    private let clock: any AgentClock
    let rate: Rate
    /// Stores the used tokens for the next run; nil if they are not stored.
    private let memory: RateMemory?
    /// The longest sleep before a waiting request checks again: another request may have given up its turn.
    private static let stride = Duration.seconds(5)

    init(_ rate: Rate, clock: any AgentClock, memory: RateMemory? = nil) {
        self.rate = rate
        self.memory = memory
        queue = Mutex(RateQueue(rate))
        self.clock = clock
    }

    /// Counts the tokens that an earlier run used. Call it before any request waits.
    func restore() async {
        let used = await memory?.restore(at: clock.now) ?? []
        queue.withLock { $0.restore(used, at: clock.now) }
    }

    /// Returns the unused tokens at the end of a run.
    func settle() async { await memory?.settle() }

    /// Returns when the next request may be sent. A cancelled wait gives its turn to another request.
    public func wait() async throws(CancellationError) {
        try await pass()
        try await memory?.note(useAt: clock.now)
    }

    private func pass() async throws(CancellationError) {
        let reservation = Reservation.current.flatMap { $0.limiter === self ? $0 : nil }
        if reservation?.take() == true { return queue.withLock { $0.use(at: clock.now) } }
        let ticket = queue.withLock { $0.enter(isContinuing: reservation != nil) }
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

    /// The tokens reserved for the attempt that this task makes.
    private final class Reservation: Sendable {
        @TaskLocal static var current: Reservation?

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

    private func giveBack(_ reservation: Reservation) {
        let left = reservation.takeAll()
        if left > 0 { queue.withLock { $0.giveBack(left, at: clock.now) } }
    }

    /// The rate as deliveries see it, given the requests per attempt.
    public func attempts(of requests: Int) -> any AttemptRate { Share(limiter: self, requests: min(requests, rate.count)) }

    private struct Share: AttemptRate {
        let limiter: RateLimiter
        let requests: Int

        func reserve(upTo attempts: Int) -> Int {
            limiter.queue.withLock { $0.reserve(upTo: attempts, requests: requests, at: limiter.clock.now) }
        }

        func giveBack(_ attempts: Int) { limiter.queue.withLock { $0.giveBack(attempts * requests, at: limiter.clock.now) } }

        func setWaiting(_ isWaiting: Bool) { limiter.queue.withLock { $0.want(isWaiting ? requests : 0, at: limiter.clock.now) } }

        var next: Timestamp? { limiter.queue.withLock { $0.bucket.next } }

        func spend<Value: Sendable>(_ attempt: () async -> Value) async -> Value {
            let reservation = Reservation(limiter, requests: requests)
            let value = await Reservation.$current.withValue(reservation) {
                // While this attempt waits at a gate, the attempt inside may need these tokens. This one is then served first.
                await FIFOGate.$onWaiting.withValue(.init { limiter.giveBack(reservation) }) { await attempt() }
            }
            limiter.giveBack(reservation)
            return value
        }
    }
}

/// Decides who may send a rate's next request: first the attempts under way, then reads and deliveries in turn, so that neither
/// starves the other.
struct RateQueue: Sendable {
    private(set) var bucket: TokenBucket
    private var lastTicket = 0
    /// Waiting requests, by their tickets: of attempts that have used up their reserved tokens, and all others.
    private var continuing: [Int] = []
    private var reading: [Int] = []
    private var served: Set<Int> = []
    /// The tokens that waiting deliveries need, and those of them that are reserved.
    private var wanted = 0
    private var granted = 0
    private var isDeliveriesTurn = true

    init(_ rate: Rate) { bucket = TokenBucket(rate) }

    mutating func restore(_ used: [RateMemory.Use], at now: Timestamp) { bucket.restore(used, at: now) }

    mutating func enter(isContinuing: Bool) -> Int {
        lastTicket += 1
        if isContinuing { continuing.append(lastTicket) } else { reading.append(lastTicket) }
        return lastTicket
    }

    /// Whether it is this request's turn; if so, the request leaves the queue.
    mutating func passes(_ ticket: Int, at now: Timestamp) -> Bool {
        serve(at: now)
        guard served.remove(ticket) != nil else { return false }
        bucket.use(at: now)
        return true
    }

    /// Removes a request that will not be sent; its turn goes to another request.
    mutating func leave(_ ticket: Int, at now: Timestamp) {
        continuing.removeAll { $0 == ticket }
        reading.removeAll { $0 == ticket }
        if served.remove(ticket) != nil { bucket.giveBack(1) }
        serve(at: now)
    }

    /// Reserves tokens for up to `attempts` attempts of `requests` requests each; returns the number of attempts.
    mutating func reserve(upTo attempts: Int, requests: Int, at now: Timestamp) -> Int {
        serve(at: now)
        let free = continuing.isEmpty && reading.isEmpty ? bucket.free(at: now) : 0
        let count = min(attempts, (granted + free) / requests)
        let mine = min(granted, count * requests)
        granted -= mine
        bucket.hold(count * requests - mine)
        return count
    }

    mutating func giveBack(_ requests: Int, at now: Timestamp) {
        bucket.giveBack(requests)
        serve(at: now)
    }

    mutating func use(at now: Timestamp) { bucket.use(at: now) }

    /// Sets how many requests the waiting deliveries need; zero if no delivery waits.
    mutating func want(_ requests: Int, at now: Timestamp) {
        wanted = requests
        if granted > wanted {
            bucket.giveBack(granted - wanted)
            granted = wanted
        }
        serve(at: now)
    }

    private mutating func serve(at now: Timestamp) {
        var free = bucket.free(at: now)
        while free > 0 {
            let isWanted = granted < wanted
            if let ticket = continuing.first {
                continuing.removeFirst()
                served.insert(ticket)
            } else if isWanted, isDeliveriesTurn || reading.isEmpty {
                granted += 1
                isDeliveriesTurn = false
            } else if let ticket = reading.first {
                reading.removeFirst()
                served.insert(ticket)
                isDeliveriesTurn = true
            } else {
                return
            }
            bucket.hold()
            free -= 1
        }
    }
}
