public import BellhopCore
import BellhopTelemetry

/// Makes deliveries: claims those that are due, performs them, records the outcome.
///
/// A delivery is claimed only when its receiver can take it now (``Lanes``). So waiting for a turn, a rate or the end of a rest
/// is not an attempt and holds no lease, and a stop leaves waiting deliveries unchanged.
public struct Dispatcher: Sendable {
    /// How many attempts may run at once, and for how long.
    public struct Limits: Sendable, Hashable {
        /// Attempts in flight, in all.
        public var inFlight: Int
        /// Attempts in flight to one receiver, so that a slow one leaves room for the others.
        public var perReceiver: Int
        /// An attempt that takes longer is ended, with an unknown outcome.
        public var attempt: Duration
        /// How long a claim holds; longer than an attempt, so that its outcome can still be recorded.
        public var lease: Duration

        public init(
            inFlight: Int = 256, perReceiver: Int = 64, attempt: Duration = .seconds(240), lease: Duration = .seconds(300)
        ) {
            self.inFlight = inFlight
            self.perReceiver = perReceiver
            self.attempt = attempt
            self.lease = lease
        }
    }

    private let surroundings: Surroundings
    private let actions: @Sendable (Delivery) -> (any Action)?
    private let limits: Limits
    private let lanes: Lanes
    private let endings = Endings()

    /// - Parameters:
    ///   - receivers: the limits of a receiver.
    ///   - actions: the action for a delivery; nil if its receiver is no longer in the configuration.
    public init(
        _ surroundings: Surroundings, limits: Limits = Limits(),
        receivers: @escaping @Sendable (String) -> ReceiverLimits = { _ in ReceiverLimits() },
        actions: @escaping @Sendable (Delivery) -> (any Action)?
    ) {
        self.surroundings = surroundings
        self.limits = limits
        self.actions = actions
        lanes = Lanes(most: limits.perReceiver, receivers: surroundings.receivers, limits: receivers)
    }

    /// How many attempts are in flight.
    public var inFlight: Int { lanes.total }

    /// When the first lease in flight ends; nil if there is none.
    var firstLeaseEnd: Timestamp? { lanes.firstLeaseEnd }

    /// Claims and performs until the stop sign is raised or the task is cancelled; returns when the last attempt has ended.
    public func run(until stop: StopSign = StopSign()) async {
        await withDiscardingTaskGroup { group in
            var latest = surroundings.clock.now
            while !Task.isCancelled, !stop.isUp {
                do throws(StoreError) {
                    if surroundings.clock.now < latest {
                        try await surroundings.store.bringForward(at: surroundings.clock.now)
                        surroundings.receivers.bringForward(to: surroundings.clock.now)
                    }
                    latest = surroundings.clock.now
                    surroundings.turns.begin(.dispatcher, at: surroundings.clock.elapsed)
                    let claims = try await claim()
                    if !claims.isEmpty {
                        group.addTask { await attempt(claims) }
                    } else {
                        let next = lanes.total < limits.inFlight ? try await nextLook() : nil
                        surroundings.turns.end(.dispatcher)
                        await surroundings.bells.dispatcher.wait(
                            until: next, on: surroundings.clock, stride: Self.stride)
                    }
                } catch {
                    surroundings.signals.emit(.storeFailed(doing: "claiming deliveries", error))
                    guard await surroundings.pauseAfterStoreError() else { break }
                }
            }
            surroundings.turns.end(.dispatcher)
            if lanes.total > 0 { surroundings.signals.emit(.stopping(inFlight: lanes.total)) }
        }
    }

    /// Performs everything that is due now, or becomes due through it, then returns the number of attempts. Waits for receivers
    /// that have room again soon.
    @discardableResult
    public func dispatchPending() async throws(StoreError) -> Int {
        var attempts = 0
        while !Task.isCancelled {
            let claims = try await claim()
            attempts += claims.count
            if !claims.isEmpty {
                await attempt(claims)
            } else if let next = lanes.nextForWaiting, next - surroundings.clock.now <= Self.patience {
                guard (try? await surroundings.clock.sleep(until: next)) != nil else { break }
            } else {
                break
            }
        }
        return attempts
    }

    /// The longest wait for a receiver in a run that is meant to end.
    private static let patience = Duration.seconds(3)

    /// When to look again without a ring.
    private func nextLook() async throws(StoreError) -> Timestamp? {
        let (closed, opens) = lanes.closed()
        let due = try await surroundings.store.nextDue(excluding: closed)
        guard let next = [due, opens].compactMap(\.self).min() else { return nil }
        // A lease that ran out while its attempt continues is already due; look again soon, not at once.
        let now = surroundings.clock.now
        return next > now ? next : now + .seconds(1)
    }

    /// How often to check the clock while waiting, to notice that it was set back.
    private static let stride = Duration.seconds(60)

    /// The most attempts in one claim.
    private var most: Int { max(limits.perReceiver / 4, 1) }

    private func claim() async throws(StoreError) -> [Claim] {
        try await surroundings.receivers.restore(from: surroundings.store, at: surroundings.clock.now)
        while true {
            let limit = min(limits.inFlight - lanes.total, most)
            guard limit > 0 else { return [] }
            let now = surroundings.clock.now
            surroundings.checkpoint(.beforeClaim)
            let claimed: Claimed
            do throws(StoreError) {
                let room = lanes.room(limit: limit, at: now)
                for (receiver, above) in lanes.coalescing(room) {
                    let count = try await surroundings.store.coalesce(receiver: receiver, above: above, at: now)
                    if count > 0 { surroundings.signals.emit(.coalesced(receiver: receiver, count: count)) }
                }
                claimed = try await surroundings.store.claim(
                    limit: limit, room: room, others: 0, by: surroundings.node,
                    until: now + limits.lease, at: now)
            } catch {
                lanes.abandon(at: now)
                throw error
            }
            if !claimed.claims.isEmpty { surroundings.checkpoint(.afterClaim) }
            let taking = lanes.took(claimed, at: now)
            for receiver in taking.trials { surroundings.signals.emit(.breakerTrial(receiver: receiver)) }
            if !claimed.claims.isEmpty || !taking.hasMet { return claimed.claims }
        }
    }

    /// Performs the deliveries of one claim; returns when the last attempt has ended. Its outcome is stored by then, or by another call
    /// of this that is under way.
    private func attempt(_ claims: [Claim]) async {
        await withDiscardingTaskGroup { group in
            // Those whose leases end together began together, and share one time limit.
            for (_, claims) in Dictionary(grouping: claims, by: \.lease.until) { group.addTask { await perform(claims) } }
        }
    }

    private func perform(_ claims: [Claim]) async {
        let clock = surroundings.clock
        // A lease lasts longer than its attempt may take, so that the outcome can still be stored.
        let limit = claims.first.map { $0.lease.until - $0.attempt.now - (limits.lease - limits.attempt) } ?? limits.attempt
        await withDiscardingTaskGroup { keeping in
            await withTaskGroup(of: Ended?.self) { performing in
                for claim in claims {
                    performing.addTask {
                        let started = ContinuousClock.now
                        let outcome = await traced(claim)
                        return Ended(claim: claim, outcome: outcome, took: ContinuousClock.now - started, at: clock.now)
                    }
                }
                // Nil when the time is up, or when this was cancelled.
                performing.addTask {
                    try? await clock.sleep(for: limit)
                    return nil
                }
                var left = claims.count
                var isOver = false
                for await ended in performing {
                    if var ended {
                        left -= 1
                        // An attempt that completed while being stopped keeps its outcome.
                        if isOver, case .interrupted = ended.outcome {
                            ended.outcome = .failed(
                                Failure(.timeout, .unknownOutcome, "The attempt did not end within \(limit) and was stopped."))
                        }
                        // Outcomes that come while others are being stored are stored together.
                        if endings.add(ended) { keeping.addTask { while let batch = endings.take() { await conclude(batch) } } }
                    } else {
                        isOver = left > 0 && !Task.isCancelled
                    }
                    if left == 0 || ended == nil { performing.cancelAll() }
                }
            }
        }
    }

    /// An attempt that has ended, as it is stored.
    private struct Ending: Sendable {
        var ended: Ended
        var change: ReceiverGate.Change
        var finish: Finish
    }

    private func conclude(_ batch: [Ended]) async {
        var left: [Ending] = []
        for ended in batch {
            surroundings.checkpoint(.afterPerform)
            let change = lanes.ended(ended.claim, ended.outcome, at: surroundings.clock.now)
            left.append(Ending(ended: ended, change: change, finish: finish(ended.claim, ended.outcome, change)))
        }
        // If this fails, nothing is lost: the lease runs out, and the attempt counts as one of unknown outcome. But the attempt
        // would then be repeated, so retry until the lease ends.
        while true {
            left = await uncancelled { [left] in await keep(left) }
            let now = surroundings.clock.now
            left.removeAll { now >= $0.ended.claim.lease.until }
            guard !left.isEmpty, await surroundings.pauseAfterStoreError() else { break }
        }
        for ended in batch { lanes.leave(ended.claim) }
        surroundings.bells.dispatcher.ring()
    }

    /// Performs with the context of its trace, which the action may pass on.
    private func traced(_ claim: Claim) async -> Outcome {
        guard let tracer = surroundings.tracer else { return await admitted(claim) }
        return await TraceContext.$current.withValue(tracer.context(of: claim)) { await admitted(claim) }
    }

    /// Performs with the requests reserved for it.
    private func admitted(_ claim: Claim) async -> Outcome {
        guard let rate = lanes.limits(of: claim.delivery.id.receiver)?.rate else { return await perform(claim) }
        return await rate.spend { await perform(claim) }
    }

    private func perform(_ claim: Claim) async -> Outcome {
        let delivery = claim.delivery
        if let expires = delivery.expires, surroundings.clock.now > expires {
            return .failed(Failure(.expired, .giveUp, "It was not sent by \(expires) and has expired."))
        }
        // A delivery that ends the process each time would be attempted for ever.
        let begun = claim.attempt.number - 1
        if begun >= delivery.retry.attempts + Self.mostUnended {
            return .failed(
                Failure(
                    .interrupted, .hold,
                    "It was started \(begun) times and never finished; check whether it was done, then retry or drop it."))
        }
        guard let action = actions(delivery) else {
            return .failed(
                Failure(
                    .missingReceiver, .giveUp,
                    "The configuration no longer has `\(delivery.id.receiver)`; restore it and retry."))
        }
        do throws(Failure) {
            return .delivered(try await action.perform(delivery, attempt: claim.attempt))
        } catch {
            // A refusal is certain, even if the task was cancelled since.
            switch error.remedy {
            case .rest, .pauseReceiver: return .failed(error)
            case .retry, .giveUp, .unknownOutcome, .hold, .pauseConnection:
                return Task.isCancelled ? .interrupted : .failed(error)
            }
        }
    }

    /// How many attempts beyond the policy's may be interrupted by the end of the process before the delivery is held.
    private static let mostUnended = 2

    private func finish(_ claim: Claim, _ outcome: Outcome, _ change: ReceiverGate.Change) -> Finish {
        let delivery = claim.delivery
        let now = surroundings.clock.now
        let next = delivery.retry.next(after: outcome, attempt: claim.attempt.number, now: now, jitter: surroundings.random())
        var events: [Event] = []
        if case .dead(let failure) = next, let notice = delivery.deathNotice(failure, at: now) { events.append(notice) }
        return Finish(
            id: delivery.id, lease: claim.lease, at: now, next: next, uncertain: outcome.isUncertain, stops: change.stops,
            pause: change.pause.map { ReceiverPause($0, telling: lanes.limits(of: delivery.id.receiver)?.onPaused) },
            events: events)
    }

    /// Records how attempts ended (T4); returns those that the store did not accept.
    private func keep(_ endings: [Ending]) async -> [Ending] {
        do throws(StoreError) {
            let kept = try await surroundings.store.finish(endings.map(\.finish))
            surroundings.checkpoint(.afterFinish)
            for (ending, isKept) in zip(endings, kept) { signal(ending, isKept: isKept) }
            return []
        } catch {
            guard endings.count > 1 else {
                surroundings.signals.emit(.storeFailed(doing: "keeping an outcome", error))
                return endings
            }
            // One that cannot be stored does not stop the others.
            var left: [Ending] = []
            for ending in endings { left += await keep([ending]) }
            return left
        }
    }

    private func signal(_ ending: Ending, isKept: Bool) {
        let (claim, finish) = (ending.ended.claim, ending.finish)
        signal(ending.change, pause: finish.pause)
        guard isKept else { return surroundings.signals.emit(.leaseLost(claim.delivery)) }
        if let tracer = surroundings.tracer {
            let context = tracer.context(of: claim)
            // The metrics name the trace beside the time that the attempt took.
            TraceContext.$current.withValue(context) {
                signal(claim, finish, took: ending.ended.took, isNewRest: ending.change.isNew)
            }
            tracer.attempted(
                claim, in: context, answered: ending.ended.at, stored: surroundings.clock.now, outcome: finish.next)
        } else {
            signal(claim, finish, took: ending.ended.took, isNewRest: ending.change.isNew)
        }
        if !finish.events.isEmpty { surroundings.bells.router.ring() }
    }

    private func signal(_ claim: Claim, _ finish: Finish, took: Duration, isNewRest: Bool) {
        let delivery = claim.delivery
        let signal: Signal =
            switch finish.next {
            case .done(let receipt): .delivered(delivery, receipt, attempt: claim.attempt.number, took: took)
            case .retry(let at, let failure): .retrying(delivery, failure, attempt: claim.attempt.number, at: at)
            case .postponed(let failure):
                .postponed(
                    delivery, failure, until: finish.pause == nil ? finish.stops.last?.until ?? finish.at : nil,
                    isNewRest: finish.pause == nil && isNewRest)
            case .dead(let failure): .dead(delivery, failure)
            case .held(let failure): .held(delivery, failure)
            case .paused(let failure, let until): .paused(delivery, failure, until: until)
            }
        surroundings.signals.emit(signal)
    }

    /// Reports what an attempt changed about its receiver.
    private func signal(_ change: ReceiverGate.Change, pause: ReceiverPause?) {
        if let stop = change.opened { surroundings.signals.emit(.breakerOpened(stop)) }
        if let stop = change.closed { surroundings.signals.emit(.breakerClosed(stop)) }
        guard let pause else { return }
        if change.isNew { surroundings.signals.emit(.receiverPaused(pause.stop)) }
        surroundings.bells.router.ring()
    }
}

extension Outcome {
    /// True if the other side may have done it although no proof of that reached us.
    var isUncertain: Bool {
        switch self {
        case .delivered: false
        case .interrupted: true
        case .failed(let failure): failure.remedy == .unknownOutcome || failure.remedy == .hold
        }
    }
}
