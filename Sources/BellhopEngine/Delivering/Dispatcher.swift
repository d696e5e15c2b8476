public import BellhopCore

/// Does what is owed: claims deliveries that are due, performs them, writes down how it went.
///
/// A delivery is claimed only when its receiver can take it now (``Lanes``). So waiting for a turn, for a rate or for the end of a rest is
/// no attempt, holds no lease, and a stop leaves what waits as it is.
public struct Dispatcher: Sendable {
    /// How much may happen at once, and for how long.
    public struct Limits: Sendable, Hashable {
        /// Attempts in flight, in all.
        public var inFlight: Int
        /// Attempts in flight to one receiver, so that a slow one leaves room for the others.
        public var perReceiver: Int
        /// An attempt that takes longer is ended, with an unknown outcome.
        public var attempt: Duration
        /// How long a claim holds; longer than an attempt, so that its end can still be written down.
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

    /// - Parameters:
    ///   - receivers: what a receiver takes.
    ///   - actions: who performs a delivery; nil when its receiver is no longer in the configuration.
    public init(
        _ surroundings: Surroundings, limits: Limits = Limits(),
        receivers: @escaping @Sendable (String) -> ReceiverLimits = { _ in ReceiverLimits() },
        actions: @escaping @Sendable (Delivery) -> (any Action)?
    ) {
        self.surroundings = surroundings
        self.limits = limits
        self.actions = actions
        lanes = Lanes(most: limits.perReceiver, rests: surroundings.rests, limits: receivers)
    }

    /// How many attempts are in flight.
    public var inFlight: Int { lanes.total }

    /// When the first of the leases in flight ends; nil when nothing is.
    var firstLeaseEnd: Timestamp? { lanes.firstLeaseEnd }

    /// Claims and performs until the sign goes up or the task is cancelled; returns when the last attempt has ended.
    public func run(until stop: StopSign = StopSign()) async {
        await withDiscardingTaskGroup { group in
            var latest = surroundings.clock.now
            while !Task.isCancelled, !stop.isUp {
                do throws(StoreError) {
                    if surroundings.clock.now < latest {
                        try await surroundings.store.bringForward(at: surroundings.clock.now)
                        lanes.bringForward(to: surroundings.clock.now)
                    }
                    latest = surroundings.clock.now
                    let claims = try await claim()
                    if !claims.isEmpty {
                        group.addTask { await attempt(claims) }
                    } else {
                        let next = lanes.total < limits.inFlight ? try await nextLook() : nil
                        await surroundings.bells.dispatcher.wait(
                            until: next, on: surroundings.clock, stride: Self.stride)
                    }
                } catch {
                    surroundings.signals.emit(.storeFailed(doing: "claiming deliveries", error))
                    guard await surroundings.pauseAfterStoreError() else { break }
                }
            }
            if lanes.total > 0 { surroundings.signals.emit(.stopping(inFlight: lanes.total)) }
        }
    }

    /// Performs everything that is due now, and what comes due through it; returns when nothing is. Waits for a receiver that can take
    /// more soon. How many attempts there were.
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

    /// The longest wait for a receiver where there is an end to come to.
    private static let patience = Duration.seconds(3)

    /// When to look again, if nobody rings before.
    private func nextLook() async throws(StoreError) -> Timestamp? {
        let (closed, opens) = lanes.closed()
        let due = try await surroundings.store.nextDue(excluding: closed)
        guard let next = [due, opens].compactMap(\.self).min() else { return nil }
        // A lease that ran out while its attempt goes on is due already; it is looked at again soon, not at once.
        let now = surroundings.clock.now
        return next > now ? next : now + .seconds(1)
    }

    /// How often it looks at the clock while it waits, so that a clock that was put back is noticed.
    private static let stride = Duration.seconds(60)

    /// Attempts that one claim takes at most.
    private var most: Int { max(limits.perReceiver / 4, 1) }

    private func claim() async throws(StoreError) -> [Claim] {
        try await surroundings.rests.restore(from: surroundings.store)
        while true {
            let limit = min(limits.inFlight - lanes.total, most)
            guard limit > 0 else { return [] }
            let now = surroundings.clock.now
            surroundings.checkpoint(.beforeClaim)
            let claimed: Claimed
            do throws(StoreError) {
                claimed = try await surroundings.store.claim(
                    limit: limit, room: lanes.room(limit: limit, at: now), others: 0, until: now + limits.lease, at: now)
            } catch {
                lanes.abandon(at: now)
                throw error
            }
            if !claimed.claims.isEmpty { surroundings.checkpoint(.afterClaim) }
            let hasMet = lanes.took(claimed, at: now)
            if !claimed.claims.isEmpty || !hasMet { return claimed.claims }
        }
    }

    /// How an attempt went, and how long it took.
    private struct Ended: Sendable {
        var claim: Claim
        var outcome: Outcome
        var took: Duration
    }

    /// Performs what was claimed together, all at once; returns when the last is written down. They share one time limit, for they
    /// began together.
    private func attempt(_ claims: [Claim]) async {
        let (clock, limit) = (surroundings.clock, limits.attempt)
        await withDiscardingTaskGroup { keeping in
            await withTaskGroup(of: Ended?.self) { performing in
                for claim in claims {
                    performing.addTask {
                        let started = ContinuousClock.now
                        let outcome = await admitted(claim)
                        return Ended(claim: claim, outcome: outcome, took: ContinuousClock.now - started)
                    }
                }
                // Nil when the time is up, and when it was called off.
                performing.addTask {
                    try? await clock.sleep(for: limit)
                    return nil
                }
                var left = claims.count
                var isOver = false
                for await ended in performing {
                    if var ended {
                        left -= 1
                        // What was done while it was being stopped is done.
                        if isOver, case .interrupted = ended.outcome {
                            ended.outcome = .failed(
                                Failure(.timeout, .unknownOutcome, "The attempt did not end within \(limit) and was stopped."))
                        }
                        keeping.addTask { [ended] in await conclude(ended) }
                    } else {
                        isOver = left > 0 && !Task.isCancelled
                    }
                    if left == 0 || ended == nil { performing.cancelAll() }
                }
            }
        }
    }

    private func conclude(_ ended: Ended) async {
        let claim = ended.claim
        surroundings.checkpoint(.afterPerform)
        let rest = lanes.ended(claim, ended.outcome, at: surroundings.clock.now)
        let finish = finish(claim, ended.outcome, rest?.rest)
        // Nothing is lost when this comes to nothing: the lease runs out, and the attempt counts as one of unknown outcome. But then
        // it is made again, so the store is asked for as long as its answer counts.
        while await !uncancelled({ await self.keep(finish, of: claim, took: ended.took, isNewRest: rest?.isNew ?? false) }) {
            guard surroundings.clock.now < claim.lease.until, await surroundings.pauseAfterStoreError() else { break }
        }
        lanes.leave(claim)
        surroundings.bells.dispatcher.ring()
    }

    /// Performs with the requests that were set aside for it.
    private func admitted(_ claim: Claim) async -> Outcome {
        guard let rate = lanes.rate(of: claim.delivery.id.receiver) else { return await perform(claim) }
        return await rate.spend { await perform(claim) }
    }

    private func perform(_ claim: Claim) async -> Outcome {
        let delivery = claim.delivery
        if let expires = delivery.expires, surroundings.clock.now > expires {
            return .failed(Failure(.expired, .giveUp, "It was not sent by \(expires), and is too old now."))
        }
        // What ends the process each time would be begun for ever.
        let begun = claim.attempt.number - 1
        if begun >= delivery.retry.attempts + Self.mostUnended {
            return .failed(
                Failure(
                    .interrupted, .hold,
                    "It was begun \(begun) times and never ended; look whether it was done, then retry or drop it."))
        }
        guard let action = actions(delivery) else {
            return .failed(
                Failure(
                    .missingReceiver, .giveUp,
                    "The configuration has no `\(delivery.id.receiver)` any more; put it back and retry."))
        }
        do throws(Failure) {
            return .delivered(try await action.perform(delivery, attempt: claim.attempt))
        } catch {
            // A refusal is certain, whatever has happened since.
            if case .rest = error.remedy { return .failed(error) }
            return Task.isCancelled ? .interrupted : .failed(error)
        }
    }

    /// So many attempts beyond its own may be cut off by the end of the process before a delivery is held.
    private static let mostUnended = 2

    private func finish(_ claim: Claim, _ outcome: Outcome, _ rest: ReceiverRest?) -> Finish {
        let delivery = claim.delivery
        let now = surroundings.clock.now
        let next = delivery.retry.next(after: outcome, attempt: claim.attempt.number, now: now, jitter: surroundings.random())
        var events: [Event] = []
        if case .dead(let failure) = next, let notice = delivery.deathNotice(failure, at: now) { events.append(notice) }
        return Finish(
            id: delivery.id, lease: claim.lease, at: now, next: next, uncertain: outcome.isUncertain, rest: rest, events: events)
    }

    /// Writes down how an attempt ended (T4); false when the store failed.
    private func keep(_ finish: Finish, of claim: Claim, took: Duration, isNewRest: Bool) async -> Bool {
        do throws(StoreError) {
            let kept = try await surroundings.store.finish([finish])
            surroundings.checkpoint(.afterFinish)
            guard kept == [true] else {
                surroundings.signals.emit(.leaseLost(claim.delivery))
                return true
            }
        } catch {
            surroundings.signals.emit(.storeFailed(doing: "keeping an outcome", error))
            return false
        }
        signal(claim, finish, took: took, isNewRest: isNewRest)
        if !finish.events.isEmpty { surroundings.bells.router.ring() }
        return true
    }

    private func signal(_ claim: Claim, _ finish: Finish, took: Duration, isNewRest: Bool) {
        let delivery = claim.delivery
        let signal: Signal =
            switch finish.next {
            case .done(let receipt): .delivered(delivery, receipt, attempt: claim.attempt.number, took: took)
            case .retry(let at, let failure): .retrying(delivery, failure, attempt: claim.attempt.number, at: at)
            case .postponed(let failure):
                .postponed(delivery, failure, until: finish.rest?.until ?? finish.at, isNewRest: isNewRest)
            case .dead(let failure): .dead(delivery, failure)
            case .held(let failure): .held(delivery, failure)
            case .paused(let failure, let until): .paused(delivery, failure, until: until)
            }
        surroundings.signals.emit(signal)
    }
}

extension Outcome {
    /// True when the other side may have done it without our knowing.
    var isUncertain: Bool {
        switch self {
        case .delivered: false
        case .interrupted: true
        case .failed(let failure): failure.remedy == .unknownOutcome || failure.remedy == .hold
        }
    }
}
