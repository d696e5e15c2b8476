import BellhopCore
import BellhopTelemetry

/// Stores the outcomes of attempts (T4) and emits their signals.
extension Dispatcher {
    /// An attempt that has ended, as it is stored.
    struct Ending: Sendable {
        var ended: Ended
        var change: ReceiverGate.Change
        var finish: Finish
    }

    func ending(_ ended: Ended) -> Ending {
        surroundings.checkpoint(.afterPerform)
        let change = lanes.ended(ended.claim, ended.outcome, at: surroundings.clock.now)
        return Ending(ended: ended, change: change, finish: finish(ended.claim, ended.outcome, change))
    }

    /// Stores outcomes as they come, until no attempt is open.
    func storeEndings() async {
        while let batch = await endings.next() { await conclude(batch.map(ending)) }
    }

    /// Stores how attempts ended, even if the task is cancelled.
    func conclude(_ batch: [Ending]) async {
        var left = batch
        // If this fails, nothing is lost: the lease runs out, and the attempt counts as one of unknown outcome. But the attempt
        // would then be repeated, so retry until the lease ends.
        while true {
            left = await uncancelled { [left] in await keep(left) }
            let now = surroundings.clock.now
            left.removeAll { now >= $0.ended.claim.lease.until }
            guard !left.isEmpty, await surroundings.pauseAfterStoreError() else { break }
        }
        leave(batch)
        surroundings.bells.dispatcher.ring()
    }

    func leave(_ batch: [Ending]) {
        for ending in batch { lanes.leave(ending.ended.claim) }
        endings.settle(batch.count)
    }

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
            stored(endings, kept)
            return []
        } catch {
            guard endings.count > 1 else {
                surroundings.report(error, doing: "storing an outcome")
                return endings
            }
            // An outcome that cannot be stored does not stop the others.
            var left: [Ending] = []
            for ending in endings { left += await keep([ending]) }
            return left
        }
    }

    func stored(_ endings: [Ending], _ kept: [Bool]) {
        surroundings.checkpoint(.afterFinish)
        for (ending, isKept) in zip(endings, kept) { signal(ending, isKept: isKept) }
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
