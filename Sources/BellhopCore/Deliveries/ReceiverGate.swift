/// Decides whether a receiver can be called now, by its stops (a rest, an open circuit breaker, a pause), and how often, by its pace.
/// The caller acts.
///
/// The circuit breaker opens after several failures in a row for which the receiver is at fault, and stays open longer each time.
/// Then one delivery is tried: any answer closes the breaker, another such failure opens it for longer.
public struct ReceiverGate: Sendable, Hashable {
    /// The changes that the end of an attempt causes.
    public struct Change: Sendable, Hashable {
        /// The stops to store. A circuit breaker that closed ends when it began.
        public var stops: [ReceiverStop] = []
        /// The refusal that pauses the receiver.
        public var pause: ReceiverStop?
        /// True if the rest or pause began with this attempt; false if an earlier attempt of the same burst began it.
        public var isNew = false
        /// The circuit breaker, if it opened or stays open for longer.
        public var opened: ReceiverStop?
        /// The circuit breaker, if it closed.
        public var closed: ReceiverStop?
        /// True if a delivery was made after a circuit breaker had been open for long, at most once an hour: what waits for its next attempt
        /// need not wait longer.
        public var isBack = false

        public init() {}
    }

    public let receiver: String
    private var pace: ReceiverPace
    private var stops: [ReceiverStop.Cause: ReceiverStop] = [:]
    /// The number of failures in a row for which the receiver is at fault.
    private var failures = 0
    /// When it was last back after a long failure.
    private var wasBack: Timestamp?
    /// Attempts that began before this moment do not pause the receiver: a person resumed it, or it got new secrets.
    private var refusalsIgnoredBefore = Timestamp.distantPast

    /// The circuit breaker opens after this many failures in a row.
    public static let maxFailures = 5
    /// How long it stays open.
    private static let open = Backoff(base: .seconds(5), factor: 2, cap: .seconds(120))
    /// A breaker that is open this long has had two failed trials. One that closes earlier does not make the receiver's waiting deliveries
    /// due: if only some of them fail, they would use up their attempts while the others close the breaker again and again.
    private static let longFailure = Duration.seconds(20)
    /// The least time between two such moments. Otherwise deliveries that always fail, if they are enough to fail two trials, would use up
    /// their attempts in minutes.
    private static let betweenReturns = Duration.seconds(3600)

    /// - Parameter most: the most attempts in flight.
    public init(_ receiver: String, most: Int = .max) {
        self.receiver = receiver
        pace = ReceiverPace(most: most)
    }

    // MARK: Asking

    /// The stop that lasts longest; nil if the receiver may be called.
    public func stop(at now: Timestamp) -> ReceiverStop? {
        stops.isEmpty
            ? nil
            : stops.values.filter { $0.lasts(at: now) }.max {
                ($0.until ?? .distantFuture, $0.cause.rawValue) < ($1.until ?? .distantFuture, $1.cause.rawValue)
            }.map { Self.limited($0, at: now) }
    }

    /// The rest that the receiver asked for, which polls of its connection obey too; nil if there is none.
    public func rest(at now: Timestamp) -> ReceiverStop? {
        stops[.rest].flatMap { $0.lasts(at: now) ? Self.limited($0, at: now) : nil }
    }

    /// Whether the next attempt is the trial after which an open circuit breaker closes.
    public func isOnTrial(at now: Timestamp) -> Bool { stops[.failures].map { !$0.lasts(at: now) } ?? false }

    /// Whether the gate has no state that could still affect an attempt.
    public func isFresh(at now: Timestamp) -> Bool {
        pace.isFresh && stops.values.allSatisfy { !$0.lasts(at: now) && $0.since + ReceiverPace.memory < now }
    }

    /// How many attempts may begin now; if none, when the next may: nil if that depends on those in flight, or on a person.
    /// - Parameter most: the most attempts in flight.
    public mutating func room(inFlight: Int, most: Int, at now: Timestamp) -> (attempts: Int, next: Timestamp?) {
        if let stop = stop(at: now) { return (0, stop.until) }
        if pace.most != most { pace.most = most }
        let room = pace.room(inFlight: inFlight, at: now)
        guard isOnTrial(at: now) else { return room }
        return (inFlight > 0 ? 0 : min(room.attempts, 1), room.next)
    }

    // MARK: Attempts

    public mutating func began(at now: Timestamp) { pace.began(at: now) }

    /// Records how an attempt ended.
    public mutating func ended(_ outcome: Outcome, began: Timestamp, at now: Timestamp) -> Change {
        var change = Change()
        switch outcome.evidence {
        case .answer:
            failures = 0
            closeBreaker(&change)
            if outcome.isDelivered, let closed = change.closed, let until = closed.until,
                until - closed.since >= Self.longFailure, wasBack.map({ now - $0 >= Self.betweenReturns }) ?? true
            {
                change.isBack = true
                wasBack = now
            }
        case .unrelated:
            // Only an attempt at the receiver itself is a trial. If none comes, the others must not stay one at a time.
            if let until = stops[.failures]?.until, until + Self.open.cap <= now { closeBreaker(&change) }
        case .trouble(let reason): countFailure(reason, began: began, at: now, &change)
        case .nothing: break
        }
        guard case .failed(let failure) = outcome else {
            pace.ended(wasAccepted: outcome.isDelivered, began: began, at: now)
            return change
        }
        if let wait = failure.requestedRest {
            let (rest, isNew) = pace.refused(began: began, wait: wait, at: now)
            change.isNew = isNew
            change.stops.append(rested(until: now + rest, interval: pace.interval, reason: failure.message, at: now))
            return change
        }
        pace.ended(wasAccepted: false, began: began, at: now)
        guard failure.remedy == .pauseReceiver, began >= refusalsIgnoredBefore else { return change }
        change.isNew = stops[.refusal] == nil
        let stop =
            stops[.refusal]
            ?? ReceiverStop(receiver: receiver, cause: .refusal, since: now, until: nil, reason: failure.message)
        stops[.refusal] = stop
        change.pause = stop
        return change
    }

    private mutating func closeBreaker(_ change: inout Change) {
        guard var stop = stops.removeValue(forKey: .failures) else { return }
        change.closed = stop
        stop.until = stop.since
        change.stops.append(stop)
    }

    /// Counts a failure for which the receiver is at fault, and opens the circuit breaker after enough of them in a row.
    private mutating func countFailure(_ reason: String, began: Timestamp, at now: Timestamp, _ change: inout Change) {
        failures += 1
        let before = stops[.failures]
        // An attempt that began before the breaker opened belongs to the same burst of failures.
        if let before, began <= before.since { return }
        guard before != nil || failures >= Self.maxFailures else { return }
        let latest = before.flatMap { stop in stop.until.map { $0 - stop.since } }
        let wait = latest.map { min(max($0, Self.open.base) * Self.open.factor, Self.open.cap) } ?? Self.open.base
        let stop = ReceiverStop(receiver: receiver, cause: .failures, since: now, until: now + wait, reason: reason)
        stops[.failures] = stop
        change.stops.append(stop)
        change.opened = stop
    }

    // MARK: Stops

    /// Records the rest that the service asked for during a poll. It does not change the pace of the deliveries after the rest.
    public mutating func recordPollRest(_ wait: Duration, reason: String, at now: Timestamp) -> ReceiverStop {
        rested(until: now + max(wait, .zero), interval: stops[.rest]?.interval ?? .zero, reason: reason, at: now)
    }

    /// Begins a rest, or extends it: a shorter rest does not end a longer one.
    private mutating func rested(until: Timestamp, interval: Duration, reason: String, at now: Timestamp) -> ReceiverStop {
        let stop = ReceiverStop(
            receiver: receiver, cause: .rest, since: now, until: max(until, stops[.rest]?.until ?? until), interval: interval,
            reason: reason)
        stops[.rest] = stop
        return stop
    }

    public mutating func pause(_ stop: ReceiverStop) { stops[stop.cause] = stop }

    /// Lets refusals of attempts that began before this time pause nothing: a person resumes the receiver, or it has new secrets. Pauses
    /// last until ``resume()``, to be called once the store has ended them.
    public mutating func ignoreEarlierRefusals(at now: Timestamp) { refusalsIgnoredBefore = now }

    /// Ends the pauses that began before ``ignoreEarlierRefusals(at:)``; false if there was none.
    @discardableResult
    public mutating func resume() -> Bool {
        let count = stops.count
        stops = stops.filter { !$0.key.isPause || $0.value.since > refusalsIgnoredBefore }
        return stops.count < count
    }

    /// Restores a stop of an earlier run, unless this run knows a later one.
    public mutating func restore(_ stop: ReceiverStop, at now: Timestamp) {
        if stops[stop.cause] != nil || (stop.cause.isPause && stop.since < refusalsIgnoredBefore) { return }
        if stop.cause == .rest { pace.restore(stop, at: now) }
        // A breaker that an earlier run closed.
        if stop.cause == .failures, !stop.isUnclosedBreaker { return }
        stops[stop.cause] = stop
    }

    /// Corrects times that are in the future because the clock was set back.
    public mutating func correctFutureTimes(to now: Timestamp) {
        pace.correctFutureTimes(to: now)
        refusalsIgnoredBefore = min(refusalsIgnoredBefore, now)
        wasBack = wasBack.map { min($0, now) }
        for (cause, stop) in stops { stops[cause] = stop.correctingFutureTimes(to: now) }
    }

    private static func limited(_ stop: ReceiverStop, at now: Timestamp) -> ReceiverStop {
        var stop = stop
        stop.until = stop.until.map { min($0, now + ReceiverStop.longest) }
        return stop
    }
}

extension Outcome {
    fileprivate enum Evidence {
        /// The receiver answered.
        case answer
        /// The receiver could not be reached, or could not answer properly.
        case trouble(String)
        /// The attempt went to another host, or ended one program of `exec`: it says nothing about the receiver.
        case unrelated
        case nothing
    }

    fileprivate var isDelivered: Bool { if case .delivered = self { true } else { false } }

    /// What the attempt shows about the receiver.
    fileprivate var evidence: Evidence {
        switch self {
        case .delivered(let receipt): receipt.concernsReceiver ? .answer : .unrelated
        case .interrupted: .nothing
        case .failed(let failure) where !failure.concernsReceiver: .unrelated
        case .failed(let failure):
            switch failure.reason {
            case .unreachable, .timeout, .tls, .cut, .hibernating, .gateway, .dropped, .serverError: .trouble(failure.message)
            case .unauthenticated, .forbidden, .sessionExpired, .loginRequired, .csrf, .mfaRequired, .quota, .throttled,
                .unexpectedPage, .apiMissing, .goneOrHidden, .badAnswer, .tooLarge, .refused, .notWritten, .movedOn:
                .answer
            // Nothing was sent.
            case .unrenderable, .expired, .budget, .quiet, .stopped, .badArguments, .missingReceiver, .fileSystem, .interrupted:
                .nothing
            }
        }
    }
}
