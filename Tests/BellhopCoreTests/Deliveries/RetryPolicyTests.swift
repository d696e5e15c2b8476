import BellhopCore
import Testing

@Suite struct RetryPolicyTests {
    let policy = RetryPolicy(attempts: 3, base: .seconds(8), cap: .seconds(60))
    let now = Timestamp(seconds: 1_767_603_600)

    private func next(_ outcome: Outcome, attempt: Int) -> RetryPolicy.Next {
        policy.next(after: outcome, attempt: attempt, now: now, jitter: 0.5)
    }

    private func failure(_ remedy: Failure.Remedy) -> Failure { Failure(.gateway, remedy, "A gateway answered.") }

    @Test func `a delivery whose failures are certain is dead after its last attempt`() {
        let failure = failure(.retry(after: nil))
        #expect(next(.failed(failure), attempt: 2) == .retry(at: now + .seconds(12), failure))
        #expect(next(.failed(failure), attempt: 3) == .dead(failure))
    }

    @Test func `a delivery with an uncertain outcome is held after its last attempt, never dead`() {
        let failure = failure(.unknownOutcome)
        #expect(next(.failed(failure), attempt: 2) == .retry(at: now + .seconds(12), failure))
        #expect(next(.failed(failure), attempt: 3) == .held(failure))
        #expect(next(.failed(failure), attempt: 4) == .held(failure))
    }

    @Test func `the standard attempts take about half a day, and those of a webhook about two days`() {
        /// The time from the first attempt to the last.
        func span(_ policy: RetryPolicy) -> Duration {
            let failure = failure(.retry(after: nil))
            var moment = now
            for attempt in 1... {
                guard case .retry(let at, _) = policy.next(after: .failed(failure), attempt: attempt, now: moment, jitter: 0.5)
                else { break }
                moment = at
            }
            return moment - now
        }
        let hour = Duration.seconds(3600)
        #expect(hour * 10...hour * 14 ~= span(.standard), "\(span(.standard))")
        #expect(hour * 40...hour * 56 ~= span(.days), "\(span(.days))")
    }

    @Test func `half of each wait is fixed and the rest is random`() {
        let failure = failure(.retry(after: nil))
        for (jitter, seconds) in [(0.0, 4), (0.5, 6), (0.999_999, 8)] {
            guard case .retry(let at, _) = policy.next(after: .failed(failure), attempt: 1, now: now, jitter: jitter) else {
                Issue.record("no retry")
                continue
            }
            #expect(abs((at - now).components.seconds - Int64(seconds)) <= (jitter > 0.9 ? 1 : 0))
        }
    }

    @Test func `the other side's Retry-After is the minimum wait`() {
        let failure = failure(.retry(after: .seconds(300)))
        #expect(next(.failed(failure), attempt: 1) == .retry(at: now + .seconds(300), failure))
    }

    @Test func `an interrupted delivery is tried again at once, and held after its last attempt`() {
        guard case .retry(at: now, let failure) = next(.interrupted, attempt: 2) else {
            Issue.record("no retry")
            return
        }
        #expect(failure.reason == .interrupted)
        #expect(next(.interrupted, attempt: 3) == .held(failure))
        #expect(next(.interrupted, attempt: 4) == .held(failure))
    }
}
