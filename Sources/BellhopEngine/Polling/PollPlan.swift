public import BellhopCore

/// How a source is polled.
public struct PollPlan: Sendable {
    public var cadence: Cadence
    /// The shortest time from the start of a poll to the start of the next one, if a push requests that one.
    public var spacing: Duration
    public var refresh: RefreshPolicy
    /// True if the tasks of the first poll cause events too.
    public var emitsInitial: Bool
    /// How many polls in a row must fail before a `source_failing` event.
    let failuresToAnnounce = 3
    /// The longest wait between polls of a failing source.
    public var failureCap: Duration
    /// Decides which results are held.
    public var storms: StormGuard
    /// Whether this program polls again, so that a failure names the time of the next poll.
    var isRepeated = true

    public init(
        cadence: Cadence, spacing: Duration = .seconds(5), refresh: RefreshPolicy = RefreshPolicy(), emitsInitial: Bool = false,
        failureCap: Duration = .seconds(900), storms: StormGuard = StormGuard()
    ) {
        self.cadence = cadence
        self.spacing = spacing
        self.refresh = refresh
        self.emitsInitial = emitsInitial
        self.failureCap = failureCap
        self.storms = storms
    }
}

/// When to read again the details of a task that looks unchanged in the listing.
public struct RefreshPolicy: Sendable, Hashable {
    /// The longest time between two readings. Nil means every poll for at most `small` tasks, and `large` for more.
    public var interval: Duration?
    let small = 200
    let large = Duration.seconds(900)
    /// The most tasks that one poll refreshes, the oldest first.
    public var batch: Int

    public init(interval: Duration? = nil, batch: Int = 1000) { (self.interval, self.batch) = (interval, batch) }

    /// The age from which a task's details are stale; zero for every poll.
    func age(tasks: Int) -> Duration { interval ?? (tasks <= small ? .zero : large) }
}

/// How one poll ended.
public enum PollOutcome: Sendable {
    case unchanged
    case baseline(tasks: Int)
    case changed(events: Int)
    /// The storm guard held the result.
    case held
    /// Another poll was stored first; the next one starts from it.
    case superseded
    case failed(Failure)

    /// Whether the stored tasks are now those of the source.
    var isGood: Bool {
        switch self {
        case .unchanged, .baseline, .changed, .superseded: true
        case .held, .failed: false
        }
    }
}
