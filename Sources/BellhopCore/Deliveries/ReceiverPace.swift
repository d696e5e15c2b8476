/// Adapts the pace of deliveries to a receiver: a few at a time, and more while all succeed; after a refusal (429) one at a time, at
/// the last accepted pace, with occasional trials of a shorter interval. ``ReceiverGate`` decides about the rest after the refusal.
public struct ReceiverPace: Sendable, Hashable {
    /// The most attempts in flight before any refusal.
    public private(set) var window: Int
    /// The least time between attempts; zero before any refusal.
    public private(set) var interval = Duration.zero

    /// The most attempts in flight.
    var most: Int { didSet { window = min(window, most) } }
    /// When the receiver last refused: later refusals of attempts that began before belong to the same burst.
    private var refusedAt: Timestamp?
    /// The attempts since a time.
    private struct Run: Sendable, Hashable {
        var start: Timestamp
        var accepted = 0
    }

    /// The attempts since the latest rest.
    private var run: Run?
    /// Those of them since the latest time without attempts, which says nothing about the pace that the receiver allows.
    private var burst: Run?
    /// The number of refusals in a row.
    private var refusals = 0
    /// The time that the interval is counted from.
    private var latest: Timestamp?
    /// The last proven interval while a shorter one is on trial; otherwise nil.
    private var proven: Duration?
    /// How many attempts were accepted at this interval, since when, and how many trials have failed.
    private var streak = 0
    private var streakStart: Timestamp?
    private var failedTrials = 0
    /// Whether the latest trial succeeded, so that the next one begins soon.
    private var hasSpedUp = false
    /// When an attempt last began or ended.
    private var active: Timestamp?

    /// The concurrent attempts to a receiver without history.
    static let initialWindow = 3
    /// After this long without attempts, the window is small again, and the pace is measured anew.
    static let idle = Duration.seconds(1)
    /// The limits of the interval; a shorter one counts as zero.
    static let longest = Duration.seconds(60)
    static let shortest = Duration.milliseconds(20)
    /// After this long without a refusal, its history is forgotten.
    public static let memory = Duration.seconds(3600)
    /// How much the interval exceeds the measured one, to allow for network jitter.
    private static let margin = 1.02

    /// - Parameter most: the most attempts in flight.
    public init(most: Int) {
        self.most = max(most, 1)
        window = min(Self.initialWindow, self.most)
    }

    /// How many attempts may begin now; if none, when the next may: nil if that depends on those in flight.
    public mutating func room(inFlight: Int, at now: Timestamp) -> (attempts: Int, next: Timestamp?) {
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
        // At least a few together, so that they are claimed in one step.
        return (free >= max(window / 4, 1) ? free : 0, nil)
    }

    /// Whether it has no state that could still affect an attempt.
    public var isFresh: Bool { interval == .zero }

    public mutating func began(at now: Timestamp) {
        let isIdle = active.map { now - $0 >= interval + Self.idle } ?? true
        if run == nil { run = Run(start: now) }
        if burst == nil || isIdle { burst = Run(start: now) }
        (latest, active) = (now, now)
    }

    /// Records an attempt that ended without a refusal.
    public mutating func ended(wasAccepted: Bool, began: Timestamp, at now: Timestamp) {
        // When the request of a quick attempt arrived is not known exactly, so its end counts.
        active = now
        if now - began < max(interval / 10, .milliseconds(100)) { latest = max(latest ?? now, now) }
        guard wasAccepted, refusedAt.map({ began > $0 }) ?? true else { return }
        run?.accepted += 1
        burst?.accepted += 1
        refusals = 0
        if interval == .zero { window = min(window + 1, most) } else { speedUp(at: now) }
    }

    /// Records a refused attempt. Returns how long the receiver rests, and whether this is new: an earlier refusal of the same burst may
    /// have begun the rest.
    /// - Parameter wait: the rest that the other side requested.
    @discardableResult
    public mutating func refused(began: Timestamp, wait: Duration?, at now: Timestamp) -> (rest: Duration, isNew: Bool) {
        let defaultRest = Backoff(base: .seconds(5), factor: 2, cap: .seconds(300))
        let wait = max(wait ?? defaultRest.ceiling(attempt: refusals + 1), .milliseconds(100))
        if let refusedAt, began <= refusedAt { return (wait, false) }
        slowDown(after: wait, at: now)
        refusedAt = now
        (run, burst, streak, streakStart, hasSpedUp) = (nil, nil, 0, nil, false)
        refusals += 1
        window = 1
        return (wait, true)
    }

    /// Restores the pace after a saved rest.
    public mutating func restore(_ rest: ReceiverStop, at now: Timestamp) {
        guard rest.since <= now, rest.since + Self.memory > now || rest.lasts(at: now) else { return }
        (interval, refusedAt, window) = (rest.interval, rest.since, 1)
        // When the previous run sent its last attempt is unknown: it may have been just now.
        latest = now
    }

    /// Corrects times that lie in the future after the clock was set back.
    public mutating func correctFutureTimes(to now: Timestamp) {
        if let refusedAt, refusedAt > now { self.refusedAt = now }
        if let latest, latest > now { self.latest = now }
        if let active, active > now { self.active = now }
        (run, burst, streakStart) = (nil, nil, nil)
    }

    // MARK: The interval

    private mutating func slowDown(after wait: Duration, at now: Timestamp) {
        if let proven {
            (interval, self.proven) = (proven, nil)
            failedTrials += 1
            return
        }
        let measured = measured(after: wait, at: now)
        switch interval {
        case .zero: interval = measured ?? min(wait, .seconds(1)) * Self.margin
        case let old where run.map({ $0.accepted == 0 }) ?? true: interval = old * 2
        case let old where measured.map({ $0 > old * 3 }) ?? false: interval = measured ?? old
        // After ten accepted attempts, something else than the pace caused the refusal.
        case let old: interval = (run?.accepted ?? 0) >= 10 ? old : old * 1.1
        }
        interval = min(max(interval, Self.shortest), Self.longest)
    }

    /// The interval that was accepted, counted until the end of the rest: the shorter of those of the run and of the burst at its end.
    /// Nil if no attempt of the burst was accepted.
    private func measured(after wait: Duration, at now: Timestamp) -> Duration? {
        guard let run, let burst, burst.accepted > 0 else { return nil }
        let paces = [run, burst].map { ((now - $0.start) + wait) / Double($0.accepted) * Self.margin }
        let pace = min(paces[0], paces[1])
        // After a rest the receiver allows its full rate. After an idle time it may not, so the first few attempts say little.
        let followsRest = refusedAt != nil && burst.start == run.start
        return followsRest || burst.accepted >= 3 ? pace : min(pace, max(interval * 3, .seconds(1)) * Self.margin)
    }

    private mutating func speedUp(at now: Timestamp) {
        streak += 1
        let since = streakStart ?? now
        streakStart = since
        if proven != nil {
            guard streak >= 3 else { return }
            (proven, failedTrials, hasSpedUp) = (nil, 0, true)
        }
        let backoff = 1 << min(failedTrials, 5)
        let isLong = streak >= 3 && now - since >= .seconds(30 * backoff)
        guard streak >= (hasSpedUp ? 3 : 30 * backoff) || isLong else { return }
        proven = interval
        interval = interval * 2 / 3
        (streak, streakStart) = (0, nil)
        if interval < Self.shortest { (interval, proven, window) = (.zero, nil, 1) }
    }
}
