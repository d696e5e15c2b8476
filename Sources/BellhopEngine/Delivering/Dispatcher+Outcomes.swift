import BellhopCore
import BellhopTelemetry
import Synchronization

/// Stores the outcomes of attempts (T4) and emits their signals.
extension Dispatcher {
    /// An ended attempt, with its effect on the receiver and the outcome to store.
    struct AttemptRecord: Sendable {
        var ended: EndedAttempt
        var change: ReceiverGate.Change
        var finish: Finish
    }

    func record(_ ended: EndedAttempt) -> AttemptRecord {
        context.checkpoint(.afterPerform)
        let change = capacity.ended(ended.claim, ended.outcome, at: context.clock.now)
        return AttemptRecord(ended: ended, change: change, finish: finish(ended.claim, ended.outcome, change))
    }

    /// Stores outcomes as they come, until no attempt is open.
    func storeOutcomes() async {
        while let batch = await endedAttempts.next() { await conclude(batch.map(record)) }
    }

    /// Stores how attempts ended, even if the task is cancelled.
    func conclude(_ batch: [AttemptRecord]) async {
        var (left, error): ([AttemptRecord], StoreError?) = (batch, nil)
        // An outcome that is never stored counts as unknown when the lease ends, and the attempt may be repeated. So retry until then. While
        // the store is full or busy, retry longer: the attempt stays in flight, so its delivery is not claimed again.
        while true {
            (left, error) = await uncancelled { [left] in await keep(left) }
            let now = context.clock.now
            let mayOutlastLease = endedAttempts.isClaiming && (error?.kind == .full || error?.kind == .busy)
            let open = mayOutlastLease ? left : left.filter { now < $0.ended.claim.lease.until }
            if let error, open.count < left.count, !endedAttempts.isClaiming {
                endedAttempts.abandon(left.count - open.count, error)
            }
            left = open
            guard !left.isEmpty, await context.pauseAfterStoreError() else { break }
        }
        if let error, !left.isEmpty { endedAttempts.abandon(left.count, error) }
        leave(batch)
        context.bells.dispatcher.ring()
    }

    func leave(_ batch: [AttemptRecord]) {
        for record in batch { capacity.leave(record.ended.claim) }
        endedAttempts.settle(batch.count)
    }

    private func finish(_ claim: Claim, _ outcome: Outcome, _ change: ReceiverGate.Change) -> Finish {
        let delivery = claim.delivery
        let now = context.clock.now
        let next = delivery.retry.next(after: outcome, attempt: claim.attempt.number, now: now, jitter: context.random())
        var events: [Event] = []
        if case .dead(let failure) = next, let notice = delivery.deathNotice(failure, at: now) { events.append(notice) }
        return Finish(
            claim, at: now, next: next, uncertain: outcome.isUncertain, stops: change.stops,
            pause: change.pause.map { ReceiverPause($0, notifying: capacity.limits(of: delivery.id.receiver)?.onPaused) },
            isReceiverBack: change.isBack, events: events)
    }

    /// Records how attempts ended (T4); returns those that the store did not accept, with its latest error.
    private func keep(_ records: [AttemptRecord]) async -> (left: [AttemptRecord], error: StoreError?) {
        do throws(StoreError) {
            let kept = try await context.store.finish(records.map(\.finish))
            stored(records, kept)
            return ([], nil)
        } catch {
            guard records.count > 1 else {
                context.report(error, doing: "storing an outcome")
                return (records, error)
            }
            // One outcome that cannot be stored must not stop the others.
            var (left, latest): ([AttemptRecord], StoreError?) = ([], nil)
            for record in records {
                let kept = await keep([record])
                left += kept.left
                latest = kept.error ?? latest
            }
            return (left, latest)
        }
    }

    /// The error for outcomes that could not be stored; nil if all were.
    var unstored: StoreError? {
        endedAttempts.abandoned.map { count, error in
            StoreError(
                error.kind,
                "What became of \(counted(count, "delivery", "deliveries")) could not be stored, so the next run may make \(count == 1 ? "it" : "them") again: \(error.message)"
            )
        }
    }

    func stored(_ records: [AttemptRecord], _ kept: [Bool]) {
        context.checkpoint(.afterFinish)
        for (record, isKept) in zip(records, kept) { signal(record, isKept: isKept) }
    }

    private func signal(_ record: AttemptRecord, isKept: Bool) {
        let (claim, finish) = (record.ended.claim, record.finish)
        signal(record.change, pause: finish.pause)
        guard isKept else { return context.signals.emit(.leaseLost(claim.delivery)) }
        if let tracer = context.tracer {
            let trace = tracer.context(of: claim)
            // The metrics take the trace of the attempt from it.
            TraceContext.$current.withValue(trace) {
                signal(claim, finish, took: record.ended.took, isNewRest: record.change.isNew)
            }
            tracer.attempted(
                claim, in: trace, answered: record.ended.at, stored: context.clock.now, outcome: finish.next)
        } else {
            signal(claim, finish, took: record.ended.took, isNewRest: record.change.isNew)
        }
        if !finish.events.isEmpty { context.bells.router.ring() }
    }

    private func signal(_ claim: Claim, _ finish: Finish, took: Duration, isNewRest: Bool) {
        let delivery = claim.delivery
        let signal: Signal =
            switch finish.next {
            case .done(let receipt): .delivered(delivery, receipt, attempt: claim.number, took: took)
            case .retry(let at, let failure): .retrying(delivery, failure, attempt: claim.number, at: at)
            case .postponed(let failure):
                .postponed(
                    delivery, failure, until: finish.pause == nil ? finish.stops.last?.until ?? finish.at : nil,
                    isNewRest: finish.pause == nil && isNewRest)
            case .dead(let failure): .dead(delivery, failure)
            case .held(let failure): .held(delivery, failure)
            case .paused(let failure, let until): .paused(delivery, failure, until: until)
            }
        context.signals.emit(signal)
    }

    /// Reports what an attempt changed about its receiver.
    private func signal(_ change: ReceiverGate.Change, pause: ReceiverPause?) {
        if let stop = change.opened { context.signals.emit(.breakerOpened(stop)) }
        if let stop = change.closed { context.signals.emit(.breakerClosed(stop)) }
        guard let pause else { return }
        if change.isNew { context.signals.emit(.receiverPaused(pause.stop)) }
        context.bells.router.ring()
    }
}

extension Outcome {
    /// True if the other side may have made the delivery without confirming it.
    var isUncertain: Bool {
        switch self {
        case .delivered: false
        case .interrupted: true
        case .failed(let failure): failure.remedy == .unknownOutcome || failure.remedy == .hold
        }
    }
}

struct EndedAttempt: Sendable {
    var claim: Claim
    var outcome: Outcome
    var took: Duration
    var at: Timestamp
}

/// The ended attempts whose outcomes are not stored yet. While the dispatcher claims, it stores them together with its claims;
/// otherwise the caller of ``next()`` stores them.
///
/// A class over a mutex, because many attempts end at the same time, each in its own task.
final class EndedAttempts: Sendable {
    fileprivate struct State {
        var waiting: [EndedAttempt] = []
        /// Attempts that began, and whose outcome was neither stored nor given up.
        var open = 0
        var isClaiming = false
        var abandoned: (count: Int, error: StoreError)?
        var waiter: CheckedContinuation<[EndedAttempt]?, Never>?
    }

    private let state = Mutex(State())

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

    /// How many outcomes were given up before their leases ended, and why the store did not accept the latest; nil if none was.
    var abandoned: (count: Int, error: StoreError)? { state.withLock { $0.abandoned } }

    /// Records that outcomes are given up before their leases end.
    func abandon(_ count: Int, _ error: StoreError) {
        state.withLock { $0.abandoned = (($0.abandoned?.count ?? 0) + count, error) }
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

    /// Whether the dispatcher stores the outcomes with its claims: it is not stopping.
    var isClaiming: Bool { state.withLock { $0.isClaiming } }

    /// From now on the dispatcher stores the outcomes (``take()``).
    func beginClaiming() { state.withLock { $0.isClaiming = true } }

    func endClaiming() { state.withLock { $0.isClaiming = false } }

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
