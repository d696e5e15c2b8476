/// How fast a receiver is asked, as it takes it: a few at a time and more while all goes well; after a refusal (429) nothing until its rest
/// is over, then one attempt at a time, no faster than it took them before, and now and then a little faster to see whether it may be.
public struct ReceiverPace: Sendable, Hashable {
    /// How many attempts are in flight at most, while it has refused nothing.
    public private(set) var window: Int
    /// The least time from one attempt to the next; zero while it has refused nothing.
    public private(set) var interval = Duration.zero
    public private(set) var restsUntil: Timestamp?

    private let most: Int
    /// When the latest rest was asked for: what began before it is of the same burst.
    private var refusedAt: Timestamp?
    /// Since the latest rest: when the first attempt began, how many were taken, and how many refusals came without one taken.
    private var runStart: Timestamp?
    private var taken = 0
    private var vain = 0
    /// From when on the interval counts.
    private var latest: Timestamp?
    /// The interval before one that is on trial; nil while none is.
    private var proven: Duration?
    /// How many were taken at this interval, since when, and how many trials failed.
    private var streak = 0
    private var streakStart: Timestamp?
    private var failedTrials = 0
    /// Whether the latest trial went well: then the next comes soon.
    private var hasSpedUp = false
    /// When an attempt began or ended.
    private var active: Timestamp?

    /// How many attempts go at once to a receiver of which nothing is known yet.
    static let initialWindow = 3
    /// A receiver that got nothing for so long is asked carefully again.
    static let idle = Duration.seconds(1)
    /// No interval is longer, and an interval as short is none.
    static let longest = Duration.seconds(60)
    static let shortest = Duration.milliseconds(20)
    /// So long after its latest refusal a receiver is taken for one that refuses nothing.
    public static let memory = Duration.seconds(3600)
    /// What the interval has over the one that was measured, for what differs on the way.
    private static let margin = 1.02

    /// - Parameter most: attempts in flight at most.
    public init(most: Int) {
        self.most = max(most, 1)
        window = min(Self.initialWindow, self.most)
    }

    /// How many attempts may begin now, and else from when on; nil where that depends on those in flight.
    public mutating func room(inFlight: Int, at now: Timestamp) -> (attempts: Int, next: Timestamp?) {
        if let until = restsUntil {
            if until > now { return (0, until) }
            restsUntil = nil
        }
        if let refusedAt, inFlight == 0, refusedAt + Self.memory < now, now - (latest ?? refusedAt) > Self.longest {
            self = ReceiverPace(most: most)
        }
        guard interval == .zero else {
            if inFlight > 0 { return (0, nil) }
            guard let latest, latest + interval > now, latest <= now else { return (1, nil) }
            return (0, latest + interval)
        }
        if inFlight == 0, let active, now - active >= Self.idle { window = min(window, Self.initialWindow) }
        let free = window - inFlight
        // Room for a few at least, so that they are claimed together.
        return (free >= max(window / 4, 1) ? free : 0, nil)
    }

    /// Whether nothing is remembered of it that matters.
    public var isFresh: Bool { interval == .zero && restsUntil == nil }

    public mutating func began(at now: Timestamp) {
        if runStart == nil { runStart = now }
        (latest, active) = (now, now)
    }

    /// An attempt ended otherwise than by a refusal.
    public mutating func ended(wasTaken: Bool, began: Timestamp, at now: Timestamp) {
        // Where it was quick, nobody can say when the request arrived before the answer did.
        active = now
        if now - began < max(interval / 10, .milliseconds(100)) { latest = max(latest ?? now, now) }
        guard wasTaken, refusedAt.map({ began > $0 }) ?? true else { return }
        taken += 1
        vain = 0
        if interval == .zero {
            window = min(window + 1, most)
        } else {
            speedUp(at: now)
        }
    }

    /// An attempt was refused; how long all rest. False where an earlier refusal of the same burst has said it.
    /// - Parameter wait: what the other side asked for.
    @discardableResult
    public mutating func refused(began: Timestamp, wait: Duration?, at now: Timestamp) -> Bool {
        let unsaid = Backoff(base: .seconds(5), factor: 2, cap: .seconds(300))
        let wait = max(wait ?? unsaid.ceiling(attempt: vain + 1), .milliseconds(100))
        restsUntil = max(restsUntil ?? now, now + wait)
        if let refusedAt, began <= refusedAt { return false }
        slowDown(after: wait, at: now)
        refusedAt = now
        (runStart, taken, streak, streakStart, hasSpedUp) = (nil, 0, 0, nil, false)
        vain += 1
        window = 1
        return true
    }

    /// Takes up a rest that was kept.
    public mutating func restore(_ rest: ReceiverRest, at now: Timestamp) {
        guard rest.since <= now, rest.since + Self.memory > now || rest.until > now else { return }
        (restsUntil, interval, refusedAt, window) = (rest.until, rest.interval, rest.since, 1)
        // When the earlier run sent its last is not known: it may have been just now.
        latest = now
    }

    /// Ends what a clock that was put back would make last.
    public mutating func bringForward(to now: Timestamp) {
        if let refusedAt, refusedAt > now {
            restsUntil = restsUntil.map { now + ($0 - refusedAt) }
            self.refusedAt = now
        }
        if let latest, latest > now { self.latest = now }
        if let active, active > now { self.active = now }
        (runStart, streakStart) = (nil, nil)
    }

    // MARK: The interval

    private mutating func slowDown(after wait: Duration, at now: Timestamp) {
        if let proven {
            (interval, self.proven) = (proven, nil)
            failedTrials += 1
            return
        }
        // So many were taken from the start of the run to the end of the rest.
        let measured = taken > 0 ? ((now - (runStart ?? now)) + wait) / Double(taken) * Self.margin : .zero
        switch interval {
        case .zero: interval = taken > 0 ? measured : min(wait, .seconds(1)) * Self.margin
        case _ where taken == 0: interval = interval * 2
        case let old where measured > old * 3: interval = measured
        // After so many it was an accident, not the pace.
        case let old: interval = taken >= 10 ? old : old * 1.1
        }
        interval = min(max(interval, Self.shortest), Self.longest)
    }

    private mutating func speedUp(at now: Timestamp) {
        streak += 1
        let since = streakStart ?? now
        streakStart = since
        if proven != nil {
            guard streak >= 3 else { return }
            (proven, failedTrials, hasSpedUp) = (nil, 0, true)
        }
        let patience = 1 << min(failedTrials, 5)
        let isLong = streak >= 3 && now - since >= .seconds(30 * patience)
        guard streak >= (hasSpedUp ? 3 : 30 * patience) || isLong else { return }
        proven = interval
        interval = interval * 2 / 3
        (streak, streakStart) = (0, nil)
        if interval < Self.shortest { (interval, proven, window) = (.zero, nil, 1) }
    }
}

/// That a receiver takes nothing before a moment, and how fast it is asked afterwards. Kept, so that it outlives a restart.
public struct ReceiverRest: Sendable, Hashable {
    public var receiver: String
    public var since: Timestamp
    public var until: Timestamp
    /// The least time from one attempt to the next.
    public var interval: Duration
    /// What the receiver answered, in one sentence.
    public var why: String

    public init(receiver: String, since: Timestamp, until: Timestamp, interval: Duration, why: String) {
        self.receiver = receiver
        self.since = since
        self.until = until
        self.interval = interval
        self.why = why
    }
}
