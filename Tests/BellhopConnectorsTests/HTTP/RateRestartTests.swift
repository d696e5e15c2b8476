import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopConnectors

/// Rates across restarts: each limiter represents a process that was killed.
@Suite struct RateRestartTests {
    let clock = TestClock()
    let notebook = MemoryNotebook()

    private func limiter(_ rate: Rate) async -> RateLimiter {
        let limiter = RateLimiter(rate, clock: clock, memory: RateMemory(connection: "chat", rate, in: notebook))
        await limiter.restore()
        return limiter
    }

    /// The number of requests that may be sent now.
    private func free(_ limiter: RateLimiter) -> Int {
        let share = limiter.attempts(of: 1)
        let count = share.reserve(upTo: 10_000)
        share.giveBack(count)
        return count
    }

    @Test func `an orderly stop gives back reserved requests that were not sent`() async throws {
        let rate = Rate(count: 1000, per: .days(1))
        for _ in 0..<20 {
            let limiter = await limiter(rate)
            try await limiter.wait()
            await limiter.settle()
        }
        #expect(free(await limiter(rate)) == 980)
    }

    @Test(arguments: [
        Rate(count: 1, per: .seconds(10)), Rate(count: 5, per: .seconds(60)), Rate(count: 100, per: .seconds(3600)),
        Rate(count: 60, per: .seconds(60)), Rate(count: 50, per: .seconds(10)),
    ])
    func `no period has more requests than the rate allows, however many restarts it has, and none stays counted`(
        _ rate: Rate
    ) async throws {
        var random = SeededRandom(seed: 7)
        var times: [Timestamp] = []
        for _ in 0..<200 {
            let limiter = await limiter(rate)
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                if free(limiter) > 0 {
                    try await limiter.wait()
                    times.append(clock.now)
                }
                await clock.advance(by: rate.period * Double.random(in: 0...0.03, using: &random))
            }
        }
        #expect(times.count > rate.count * 2)
        let early = times.indices.dropFirst(rate.count).filter { times[$0] - times[$0 - rate.count] < rate.period }
        #expect(early.isEmpty, "requests that were sent too early")
        let last = await limiter(rate)
        await clock.advance(by: rate.period)
        #expect(free(last) == rate.count)
    }

    @Test func `a high rate writes few notes, and a restart costs at most a tenth of the rate`() async throws {
        let rate = Rate(count: 100, per: .seconds(3600))
        let first = await limiter(rate)
        for _ in 0..<31 { try await first.wait() }
        #expect(notebook.writes == 4)
        #expect(free(await limiter(rate)) == 60)
    }

    @Test func `requests sent at the same time are all counted`() async throws {
        let rate = Rate(count: 40, per: .seconds(60))
        let first = await limiter(rate)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<40 { group.addTask { try? await first.wait() } }
        }
        #expect(free(await limiter(rate)) == 0)
    }

    @Test func `after the clock was set back, an earlier request counts as sent now`() async throws {
        let rate = Rate(count: 1, per: .seconds(60))
        try await limiter(rate).wait()
        await clock.advance(by: .seconds(-1000))
        let second = await limiter(rate)
        #expect(free(second) == 0)
        await clock.advance(by: .seconds(60))
        #expect(free(second) == 1)
    }

    @Test func `a reopened connection shares the rate of the one before`() async throws {
        let practice = WebPractice()
        var environment = practice.environment
        environment.keepsRates = true
        let rate = Rate(count: 2, per: .seconds(60))
        await environment.rates.restore("chat", rate, in: environment)
        let first = try #require(environment.rates.limiter("chat", rate))
        try await first.wait()
        await environment.rates.restore("chat", rate, in: environment)
        #expect(environment.rates.limiter("chat", rate) === first)
        #expect(environment.rates.limiter("other", rate) == nil)
        environment.keepsRates = false
        await environment.rates.restore("other", rate, in: environment)
        #expect(environment.rates.limiter("other", rate) == nil)
    }
}
