import BellhopCore

extension Poller {
    /// How long to sleep before checking whether the clock was set.
    private static let stride = Duration.seconds(30)

    /// When to poll next while polls work: on the plan's cadence.
    func nextPoll(after started: Timestamp, wasBusy: Bool) -> Timestamp {
        regular(after: started, wasBusy: wasBusy, jitter: surroundings.random())
    }

    /// When to poll next after this many failures in a row: increasingly rare, and not before the other side allows.
    func nextPoll(after failure: Failure, failures: Int, started: Timestamp) -> Timestamp {
        let jitter = surroundings.random()
        let regular = regular(after: started, wasBusy: false, jitter: jitter)
        let pace = max(regular - started, .seconds(1))
        // Half of the ceiling is fixed, so that failing polls are always rarer than working ones.
        let backoff = Backoff(base: pace, factor: 2, cap: max(plan.failureCap, pace))
        var wait = backoff.ceiling(attempt: failures) / 2 + backoff.delay(attempt: failures, jitter: jitter) / 2
        switch failure.remedy {
        case .retry(let least?), .rest(let least?): wait = max(wait, least)
        case .retry(nil), .rest(nil), .giveUp, .unknownOutcome, .hold, .pauseConnection: break
        }
        if failure.remedy == .pauseConnection { wait = max(wait, min(.seconds(300), plan.failureCap)) }
        return max(regular, started + wait)
    }

    /// When to verify a doubtful list before the cadence would: one that is held, or a first one that was empty.
    func secondLook(after started: Timestamp) -> Timestamp? {
        guard let health = memory?.health else { return nil }
        return [health.held?.since, health.emptyBaseline?.since].compactMap(\.self).map { $0 + StormGuard.patience }
            .filter { $0 > started }.min()
    }

    private func regular(after started: Timestamp, wasBusy: Bool, jitter: Double) -> Timestamp {
        plan.cadence.next(after: started, busy: wasBusy, jitter: jitter) ?? started + .days(1)
    }

    /// Sleeps until the moment or a ring; false if the task was cancelled. If the clock is set back, waits at most as long again;
    /// if it is set forward, stops waiting.
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
                break  // a ring
            }
            latest = now
        }
        return !Task.isCancelled
    }
}
