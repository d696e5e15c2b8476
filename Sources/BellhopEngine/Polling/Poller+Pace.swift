import BellhopCore

extension Poller {
    /// How long a sleep goes before the clock is looked at again, so that a clock that was set is noticed.
    private static let stride = Duration.seconds(30)

    /// When to poll next while polls work: on the plan's cadence.
    func nextPoll(after started: Timestamp, wasBusy: Bool) -> Timestamp {
        regular(after: started, wasBusy: wasBusy, jitter: surroundings.random())
    }

    /// When to poll next after so many failures in a row: less and less often, and not before the other side said.
    func nextPoll(after failure: Failure, failures: Int, started: Timestamp) -> Timestamp {
        let jitter = surroundings.random()
        let regular = regular(after: started, wasBusy: false, jitter: jitter)
        let pace = max(regular - started, .seconds(1))
        // Half of the ceiling is certain, so that failing polls are always rarer than working ones.
        let backoff = Backoff(base: pace, factor: 2, cap: max(plan.failureCap, pace))
        var wait = backoff.ceiling(attempt: failures) / 2 + backoff.delay(attempt: failures, jitter: jitter) / 2
        switch failure.remedy {
        case .retry(let least?), .rest(let least?): wait = max(wait, least)
        case .retry(nil), .rest(nil), .giveUp, .unknownOutcome, .hold, .pauseConnection: break
        }
        if failure.remedy == .pauseConnection { wait = max(wait, min(.seconds(300), plan.failureCap)) }
        return max(regular, started + wait)
    }

    /// When to look again at what may be false, where the cadence would come later: a list that is held back, or a first one that was empty.
    func secondLook(after started: Timestamp) -> Timestamp? {
        guard let health = memory?.health else { return nil }
        return [health.held?.since, health.emptyBaseline?.since].compactMap(\.self).map { $0 + StormGuard.patience }
            .filter { $0 > started }.min()
    }

    private func regular(after started: Timestamp, wasBusy: Bool, jitter: Double) -> Timestamp {
        plan.cadence.next(after: started, busy: wasBusy, jitter: jitter) ?? started + .days(1)
    }

    /// Sleeps until the moment, or until somebody rings for a poll; false when the task was cancelled. A clock that is set back meanwhile
    /// makes the wait at most as long again, one that is set forward ends it.
    func sleep(until moment: Timestamp) async -> Bool {
        let clock = surroundings.clock
        var moment = moment
        var latest = clock.now
        let wait = moment - latest
        while latest < moment, !Task.isCancelled {
            let end = min(moment, latest + Self.stride)
            await bell.wait(until: end, on: clock, stride: Self.stride)
            let now = clock.now
            if now < latest {
                moment = min(moment, now + wait)
            } else if now < end {
                break  // somebody rang
            }
            latest = now
        }
        return !Task.isCancelled
    }
}
