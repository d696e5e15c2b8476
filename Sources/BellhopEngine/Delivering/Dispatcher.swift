public import BellhopCore
import BellhopTelemetry

/// Makes deliveries: claims those that are due, performs them, records the outcome.
///
/// A delivery is claimed only when its receiver can take it now (``ReceiverCapacity``). So waiting for a turn, a rate or the end of a
/// rest is not an attempt and holds no lease, and a stop leaves waiting deliveries unchanged.
public struct Dispatcher: Sendable {
    /// How many attempts may run at once, and for how long.
    public struct Limits: Sendable, Hashable {
        /// Attempts in flight, in all.
        public var inFlight: Int
        /// Attempts in flight to one receiver, so that a slow one leaves room for the others.
        public var perReceiver: Int
        /// The time limit of an attempt. One that exceeds it is cancelled, with an unknown outcome.
        public var attempt: Duration
        /// How long a claim holds; longer than an attempt, so that its outcome can still be recorded.
        public var lease: Duration

        public init(
            inFlight: Int = 256, perReceiver: Int = 64, attempt: Duration = .seconds(240), lease: Duration = .seconds(300)
        ) {
            (self.inFlight, self.perReceiver, self.attempt, self.lease) = (inFlight, perReceiver, attempt, lease)
        }
    }

    let context: EngineContext
    private let actions: @Sendable (Delivery) -> (any Action)?
    let limits: Limits
    let capacity: ReceiverCapacity
    let endedAttempts = EndedAttempts()

    /// - Parameters:
    ///   - receivers: the limits of a receiver.
    ///   - actions: the action for a delivery; nil if its receiver is no longer in the configuration.
    public init(
        _ context: EngineContext, limits: Limits = Limits(),
        receivers: @escaping @Sendable (String) -> ReceiverLimits = { _ in ReceiverLimits() },
        actions: @escaping @Sendable (Delivery) -> (any Action)?
    ) {
        self.context = context
        self.limits = limits
        self.actions = actions
        capacity = ReceiverCapacity(most: limits.perReceiver, receivers: context.receivers, limits: receivers)
    }

    /// How many attempts are in flight.
    public var inFlight: Int { capacity.total }

    /// When the first lease in flight ends; nil if there is none.
    var firstLeaseEnd: Timestamp? { capacity.firstLeaseEnd }

    /// Claims and performs until the stop flag is raised or the task is cancelled; returns when the last attempt has ended.
    ///
    /// The loop runs on the store's executor, because each turn is mainly one transaction; attempts run elsewhere.
    public func run(until stop: StopFlag = StopFlag()) async {
        await withTaskExecutorPreference(context.store.executor) { await work(until: stop) }
    }

    private func work(until stop: StopFlag) async {
        await withDiscardingTaskGroup { group in
            var latest = context.clock.now
            endedAttempts.beginClaiming()
            while !Task.isCancelled, !stop.isRaised {
                do throws(StoreError) {
                    if context.clock.now < latest {
                        try await context.store.correctFutureTimes(at: context.clock.now)
                        context.receivers.correctFutureTimes(to: context.clock.now)
                    }
                    latest = context.clock.now
                    context.turns.begin(.dispatcher, at: context.clock.elapsed)
                    let turn = try await turn(in: &group)
                    if !turn.claims.isEmpty { group.addTask { await attempt(turn.claims) } }
                    if !turn.mayHaveMore, endedAttempts.isEmpty {
                        let next = capacity.total < limits.inFlight ? try await nextLook() : nil
                        context.turns.end(.dispatcher)
                        await context.bells.dispatcher.wait(
                            until: next, on: context.clock, stride: Self.stride)
                    }
                } catch {
                    context.turns.end(.dispatcher)
                    context.report(error, doing: "claiming deliveries")
                    guard await context.pauseAfterStoreError() else { break }
                }
            }
            context.turns.end(.dispatcher)
            if capacity.total > 0 { context.signals.emit(.stopping(inFlight: capacity.total)) }
            endedAttempts.endClaiming()
            await storeOutcomes()
        }
    }

    /// Performs all deliveries that are due now, or become due through these; returns the number of attempts. Waits for receivers
    /// that have room again within seconds.
    @discardableResult
    public func dispatchPending() async throws(StoreError) -> Int {
        var attempts = 0
        while !Task.isCancelled {
            var none: [AttemptRecord] = []  // The outcomes of an earlier claim are stored already.
            let turn = try await claim(finishing: &none)
            attempts += turn.claims.count
            if !turn.claims.isEmpty {
                await withDiscardingTaskGroup { group in
                    group.addTask { await storeOutcomes() }
                    await attempt(turn.claims)
                }
            } else if turn.mayHaveMore {
                // Deliveries that have expired took the place of others.
                continue
            } else if let next = capacity.nextForWaiting, next - context.clock.now <= Self.maxFinalWait {
                guard (try? await context.clock.sleep(until: next)) != nil else { break }
            } else {
                break
            }
        }
        return attempts
    }

    /// The longest wait for a receiver in a run that is meant to end.
    static let maxFinalWait = Duration.seconds(3)

    /// When to look for due deliveries if nothing rings the bell before.
    private func nextLook() async throws(StoreError) -> Timestamp? {
        let (closed, opens) = capacity.closed()
        let due = try await context.store.nextDue(excluding: closed)
        guard let next = [due, opens].compactMap(\.self).min() else { return nil }
        // A lease that ran out while its attempt continues is always due: look again in a second, not at once.
        let now = context.clock.now
        return next > now ? next : now + .seconds(1)
    }

    /// How often to check the clock while waiting, to notice that it was set back.
    private static let stride = Duration.seconds(60)

    /// The most attempts in one claim.
    private var most: Int { max(limits.perReceiver / 4, 1) }

    /// The claimed attempts, and whether an immediate second claim may find more.
    private struct Turn {
        var claims: [Claim] = []
        var mayHaveMore = false
    }

    /// Stores the waiting outcomes (T4) and claims as many deliveries as there is room for (T3), in one transaction.
    private func turn(in group: inout DiscardingTaskGroup) async throws(StoreError) -> Turn {
        try await context.receivers.restore(from: context.store, at: context.clock.now)
        var ended = endedAttempts.take().map(record)
        do throws(StoreError) {
            return try await claim(finishing: &ended)
        } catch {
            // Perhaps the store refuses only one of the outcomes: store them without the claim, if necessary one by one.
            if !ended.isEmpty { group.addTask { [ended] in await conclude(ended) } }
            throw error
        }
    }

    /// - Parameter ended: the outcomes to store. Those that are stored are removed.
    private func claim(finishing ended: inout [AttemptRecord]) async throws(StoreError) -> Turn {
        try await context.receivers.restore(from: context.store, at: context.clock.now)
        while true {
            let limit = min(limits.inFlight - capacity.total + ended.count, most)
            guard limit > 0 else { return Turn() }
            let now = context.clock.now
            context.checkpoint(.beforeClaim)
            let claimed: Claimed
            do throws(StoreError) {
                let quotas = capacity.quotas(limit: limit, without: ended.map(\.ended), at: now)
                let request = ClaimRequest(
                    limit: limit, quotas: quotas, others: 0, by: context.node, until: now + limits.lease, at: now)
                if ended.isEmpty {
                    claimed = try await context.store.claim(request)
                } else {
                    let kept: [Bool]
                    (kept, claimed) = try await context.store.finish(ended.map(\.finish), claiming: request)
                    stored(ended, kept)
                    leave(ended)
                    ended = []
                }
            } catch {
                capacity.abandonClaim(at: now)
                throw error
            }
            if !claimed.claims.isEmpty { context.checkpoint(.afterClaim) }
            for (receiver, count) in claimed.coalesced { context.signals.emit(.coalesced(receiver: receiver, count: count)) }
            for dead in claimed.dead { context.signals.emit(.dead(dead.delivery, dead.failure)) }
            for delivery in claimed.outdated { context.signals.emit(.dropped(delivery, .outdated)) }
            if !claimed.dead.isEmpty { context.bells.router.ring() }
            let effects = capacity.recordClaim(claimed, at: now)
            endedAttempts.expect(claimed.claims.count)
            for receiver in effects.trials { context.signals.emit(.breakerTrial(receiver: receiver)) }
            if !claimed.claims.isEmpty || !effects.foundNewReceiver {
                return Turn(claims: claimed.claims, mayHaveMore: effects.mayHaveMore)
            }
        }
    }

    /// Performs the deliveries of one claim; returns when the last attempt has ended.
    private func attempt(_ claims: [Claim]) async {
        await withDiscardingTaskGroup { group in
            // Attempts whose leases end together began together, and share one time limit.
            for (_, claims) in Dictionary(grouping: claims, by: \.lease.until) { group.addTask { await perform(claims) } }
        }
    }

    private func perform(_ claims: [Claim]) async {
        let clock = context.clock
        // A lease lasts longer than its attempt may take, so that the outcome can still be stored.
        let limit = claims.first.map { $0.lease.until - $0.attempt.now - (limits.lease - limits.attempt) } ?? limits.attempt
        let isOver = StopFlag()
        await withTaskGroup { group in
            group.addTask {
                await withDiscardingTaskGroup { attempts in
                    for claim in claims {
                        let action = actions(claim.delivery)
                        attempts.addTask(executorPreference: action?.executor ?? globalConcurrentExecutor) {
                            let started = ContinuousClock.now
                            var outcome = await traced(claim, action)
                            // An attempt that completed while being stopped keeps its outcome.
                            if isOver.isRaised, case .interrupted = outcome {
                                outcome = .failed(
                                    Failure(
                                        .timeout, .unknownOutcome,
                                        "The attempt did not end within \(DurationText.format(limit)) and was stopped."))
                            }
                            let ended = EndedAttempt(
                                claim: claim, outcome: outcome, took: ContinuousClock.now - started, at: clock.now)
                            if endedAttempts.add(ended) { context.bells.dispatcher.ring() }
                        }
                    }
                }
            }
            group.addTask {
                // Throws only when cancelled: all attempts have ended, or the agent stops.
                if (try? await clock.sleep(for: limit)) != nil { isOver.raise() }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// Performs the attempt in its trace context, which the action may pass on.
    private func traced(_ claim: Claim, _ action: (any Action)?) async -> Outcome {
        guard let tracer = context.tracer else { return await rateLimited(claim, action) }
        return await TraceContext.$current.withValue(tracer.context(of: claim)) { await rateLimited(claim, action) }
    }

    /// Performs the attempt with the requests that are reserved for it.
    private func rateLimited(_ claim: Claim, _ action: (any Action)?) async -> Outcome {
        guard let rate = capacity.limits(of: claim.delivery.id.receiver)?.rate else { return await perform(claim, action) }
        return await rate.spend { await perform(claim, action) }
    }

    private func perform(_ claim: Claim, _ action: (any Action)?) async -> Outcome {
        let delivery = claim.delivery
        // Without this limit, a delivery that crashes the process at each attempt would be attempted for ever.
        let begun = claim.attempt.number - 1
        if begun >= delivery.retry.attempts + Self.maxInterrupted {
            return .failed(
                Failure(
                    .interrupted, .hold,
                    "It was started \(begun) times and never finished; check whether it was done, then retry or drop it."))
        }
        guard let action else {
            return .failed(
                Failure(
                    .missingReceiver, .giveUp,
                    "bellhop.yaml no longer has the connection `\(delivery.id.receiver)`: restore it, then retry the delivery."))
        }
        do throws(Failure) {
            return .delivered(try await action.perform(delivery, attempt: claim.attempt))
        } catch {
            // The receiver has refused, even if the task was cancelled since.
            switch error.remedy {
            case .rest, .pauseReceiver: return .failed(error)
            case .retry, .giveUp, .unknownOutcome, .hold, .pauseConnection:
                return Task.isCancelled ? .interrupted : .failed(error)
            }
        }
    }

    /// How many attempts beyond those of the retry policy may be interrupted by the end of the process, before the delivery is held.
    private static let maxInterrupted = 2
}
