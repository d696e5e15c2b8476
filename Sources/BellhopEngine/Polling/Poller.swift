public import BellhopCore
import BellhopTelemetry
import Synchronization

/// Polls one source: performs the steps of its ``PollMachine`` with the source, the store and the clock. One poll at a time, each
/// stored whole or not at all (T1).
public struct Poller: Sendable {
    public let source: any Source
    private let context: EngineContext
    private let bell: PollBell
    private var machine: PollMachine
    /// How often to store the time of a success when there is nothing else to store, as after most polls.
    private static let successInterval = Duration.seconds(600)
    /// How long to sleep before checking whether the clock was set.
    private static let stride = Duration.seconds(30)

    public init(_ source: any Source, plan: PollPlan, in context: EngineContext, bell: PollBell = PollBell()) {
        self.source = source
        self.bell = bell
        self.context = context
        machine = PollMachine(source, plan: plan)
    }

    /// When the current series of failed or held polls began, or the rest that prevents polls.
    var failingSince: Timestamp? {
        let rest = context.receivers.rest(of: source.receiver, at: context.clock.now)
        return [machine.failingSince, rest?.since].compactMap(\.self).min()
    }

    /// Polls on the plan's cadence until the task is cancelled.
    /// - Parameters:
    ///   - initialPolls: hears of every poll, and of the time that the machine slept.
    ///   - onNewUser: called when the login of a poll has told whose tasks these are.
    public mutating func run(noting initialPolls: InitialPolls? = nil, onNewUser: @Sendable () async -> Void = {}) async {
        var user = source.user
        while !Task.isCancelled {
            let began = context.clock.now
            let awakeSince = initialPolls?.started
            var isGood = false
            do throws(StoreError) {
                isGood = try await pollOnce().isGood
            } catch {
                context.report(error, doing: "storing a poll of \(source.name)")
            }
            if let awakeSince { initialPolls?.markPolled(source.scope.id, isGood: isGood, since: awakeSince, in: context) }
            if source.user != user, !Task.isCancelled {
                user = source.user
                await onNewUser()
            }
            let now = context.clock.now
            // The clock may have been set back during the poll.
            if now < began { correctFutureTimes(to: now, initialPolls) }
            let started = min(began, now)
            await sleep(
                until: machine.nextPoll(after: started, jitter: context.random()), soon: machine.soonPoll(after: started),
                noting: initialPolls)
        }
        await storeSuccess()
    }

    /// One poll, from request to commit.
    public mutating func pollOnce() async throws(StoreError) -> PollOutcome {
        let began = ContinuousClock.now
        var trail = Trail(began: context.clock.now)
        context.activities.begin(.polling, source.name, at: context.clock.now)
        defer { context.activities.end(source.name, notices: machine.notices.all) }
        var step = machine.begin(at: moment(since: began))
        do throws(StoreError) {
            while true {
                emitSignals(trail)
                if case .end(let outcome) = step {
                    await storeSuccess(after: Self.successInterval)
                    return outcome
                }
                let result = try await perform(step)
                if context.tracer != nil { trail.ended(step, at: context.clock.now) }
                // A request that failed because Bellhop stops says nothing about the source.
                if case .failed(let failure) = result, Task.isCancelled { return .failed(failure) }
                step = machine.received(result, at: moment(since: began))
            }
        } catch {
            machine.forget(at: context.clock.now)
            throw error
        }
    }

    /// Stores the time of the last successful poll if the stored time is older by `age`, so that readers of the store do not get an
    /// earlier time than the agent reported.
    mutating func storeSuccess(after age: Duration = .zero) async {
        guard let health = machine.unstoredSuccess(olderThan: age) else { return }
        let (store, scope) = (context.store, source.scope.id)
        let error = await uncancelled { () async -> StoreError? in
            do throws(StoreError) { try await store.setHealth(health, of: scope, events: [], rest: nil) } catch { return error }
            return nil
        }
        if let error {
            context.report(error, doing: "storing the time of the last poll of \(source.name)")
        } else {
            machine.storedSuccess(of: health)
        }
    }

    // MARK: - Effects

    private func moment(since began: ContinuousClock.Instant) -> PollMachine.Moment {
        let now = context.clock.now
        return PollMachine.Moment(
            now: now, took: .now - began, jitter: context.random(),
            rest: context.receivers.rest(of: source.receiver, at: now))
    }

    private func perform(_ step: PollMachine.Step) async throws(StoreError) -> PollMachine.Result {
        let (store, scope) = (context.store, source.scope)
        switch step {
        case .open:
            try await context.receivers.restore(from: store, at: context.clock.now)
            return .opened(try await store.open(scope, source: source.name, at: context.clock.now))
        case .list(let lastPoll):
            do throws(Failure) { return .listed(try await source.list(from: lastPoll)) } catch { return .failed(error) }
        case .details(let keys, let listing):
            do throws(Failure) { return .details(try await source.details(of: keys, in: listing)) } catch {
                return .failed(error)
            }
        case .load(let request):
            var loaded = PollMachine.Loaded()
            if !request.keys.isEmpty {
                loaded.tasks = try await store.remembered(request.keys, in: scope.id)
                loaded.writes = try await store.writes(to: request.keys.map { scope.subject(of: $0) }, since: request.since)
            }
            if !request.commented.isEmpty {
                loaded.comments = try await store.comments(on: request.commented, since: request.commentsSince)
            }
            return .loaded(loaded)
        case .commit(let commit):
            context.checkpoint(.beforePollCommit)
            let result = try await store.commit(commit) { [bell = context.bells.router] in bell.ring() }
            context.checkpoint(.afterPollCommit)
            return .committed(result)
        case .store(let health, let events, let request):
            let rest = request.map {
                context.receivers.recordPoll($0.wait, of: source.receiver, reason: $0.reason, at: context.clock.now)
            }
            try await store.setHealth(health, of: scope.id, events: events, rest: rest)
            return .stored
        case .end: preconditionFailure("a poll has ended")
        }
    }

    /// When the parts of one poll ended, for its trace.
    private struct Trail {
        var began: Timestamp
        var moments: [Span.Moment] = []

        mutating func ended(_ step: PollMachine.Step, at now: Timestamp) {
            switch step {
            case .list: moments.append(.init("listed", now))
            case .details: moments.append(.init("details read", now))
            case .commit: moments.append(.init("stored", now))
            case .open, .load, .store, .end: break
            }
        }
    }

    private mutating func emitSignals(_ trail: Trail) {
        var hasEvents = false
        for signal in machine.takeSignals() {
            if case .event(let event) = signal {
                hasEvents = true
                context.tracer?.stored(event, by: "poll", from: trail.began, to: context.clock.now, moments: trail.moments)
            }
            context.signals.emit(signal)
        }
        if hasEvents { context.bells.router.ring() }
    }

    /// Sleeps until the moment, a ring or a cancellation. A request for a poll soon does not end the sleep before `soon`. If the clock is
    /// set back, the sleep lasts at most its full length from then on; if it is set past the moment, or the machine slept meanwhile, the
    /// sleep ends.
    private func sleep(until moment: Timestamp, soon: Timestamp, noting initialPolls: InitialPolls?) async {
        let clock = context.clock
        var (moment, soon) = (moment, soon)
        var latest = clock.now
        let (wait, soonWait) = (moment - latest, soon - latest)
        while !Task.isCancelled {
            switch bell.take() {
            case .now: return
            case .soon: moment = min(moment, soon)
            case nil: break
            }
            if latest >= moment || initialPolls?.isMissing([source.scope.id]) ?? false { return }
            await bell.bell.wait(until: min(moment, latest + Self.stride), on: clock, stride: Self.stride)
            let now = clock.now
            if now - latest > Self.stride + InitialPolls.leastDowntime { initialPolls?.beginAnew(at: now, after: latest) }
            if now < latest {
                (moment, soon) = (min(moment, now + wait), min(soon, now + soonWait))
                correctFutureTimes(to: now, initialPolls)
            }
            latest = now
        }
    }

    /// Shortens waits that began while the clock was ahead. Pollers do this too, because a loop that sleeps for long, such as a dispatcher
    /// without deliveries, notices only when it wakes that the clock was set back.
    private func correctFutureTimes(to now: Timestamp, _ initialPolls: InitialPolls?) {
        context.receivers.correctFutureTimes(to: now)
        initialPolls?.correctFutureTimes(to: now)
    }
}

/// The current activity of each source, with which the status shows which system does not answer, and the notices about it.
///
/// A class over a mutex, because the loops of all sources write it and a status reads it.
final class SourceActivities: Sendable {
    private let state = Mutex((activities: [String: SourceActivity](), notices: [String: [String]]()))

    var all: [String: SourceActivity] { state.withLock { $0.activities } }
    var notices: [String: [String]] { state.withLock { $0.notices } }

    func begin(_ kind: SourceActivity.Kind, _ source: String, at now: Timestamp) {
        state.withLock { $0.activities[source] = SourceActivity(kind: kind, since: now) }
    }

    func end(_ source: String, notices: [String]? = nil) {
        state.withLock { state in
            state.activities[source] = nil
            if let notices { state.notices[source] = notices }
        }
    }
}

/// An unfinished activity of a source.
public struct SourceActivity: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// Reads which fields its tasks have; not yet polled since the start.
        case preparing
        case polling
    }

    public var kind: Kind
    public var since: Timestamp

    public init(kind: Kind, since: Timestamp) { (self.kind, self.since) = (kind, since) }
}
