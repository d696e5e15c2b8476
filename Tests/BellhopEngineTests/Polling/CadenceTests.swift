import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

@Suite struct `The cadence of polls` {
    /// Polls a source for a while. Returns when, in seconds from the start.
    private func polls(
        _ cadence: Cadence, for time: Duration, delay: Duration = .zero, random: Double = 0.5,
        spacing: Duration = .seconds(5), _ story: (ScriptedSource, TestClock, PollBell) async throws -> Void
    ) async throws -> [Double] {
        let bench = try Bench(random: random)
        let source = ScriptedSource(tasks: tasks(0..<3), clock: bench.clock, delay: delay)
        let (clock, start, bell) = (bench.clock, bench.now, PollBell())
        try await bench.whilePolling(source, PollPlan(cadence: cadence, spacing: spacing), bell: bell) {
            try await story(source, clock, bell)
            try await clock.run(until: start + time, awaiting: 1)
        }
        #expect(source.requests.maxPollsAtOnce == 1)
        return source.requests.lists.map { ($0 - start) / .seconds(1) }
    }

    private func polls(
        _ cadence: Cadence, for time: Duration, delay: Duration = .zero, random: Double = 0.5
    ) async throws -> [Double] {
        try await polls(cadence, for: time, delay: delay, random: random) { _, _, _ in }
    }

    /// Asks for a poll each second, for so many seconds from now on.
    private func push(_ bell: PollBell, _ clock: TestClock, seconds: Int) async throws {
        for _ in 0..<seconds {
            bell.ringSoon()
            try await clock.run(until: clock.now + .seconds(1), awaiting: 1)
        }
    }

    @Test func `a push polls at once, and many pushes never more often than the spacing`() async throws {
        let times = try await polls(.every(.seconds(3600)), for: .seconds(300)) { _, clock, bell in
            try await clock.run(until: clock.now + .seconds(100), awaiting: 1)
            try await push(bell, clock, seconds: 12)
        }
        // The last one was asked for while the spacing lasted.
        #expect(times == [0, 100, 105, 110, 115])
    }

    @Test func `pushes do not delay the regular polls`() async throws {
        let times = try await polls(.every(.seconds(3)), for: .seconds(10), spacing: .seconds(60)) { _, clock, bell in
            try await push(bell, clock, seconds: 9)
        }
        #expect(times == [0, 3, 6, 9])
    }

    @Test func `a push does not end the wait after a failure or a rest`() async throws {
        for remedy in [Failure.Remedy.retry(after: .seconds(200)), .rest(.seconds(200))] {
            let times = try await polls(.every(.seconds(3600)), for: .seconds(3500)) { source, clock, bell in
                try await clock.run(until: clock.now + .seconds(10), awaiting: 1)
                source.edit { $0.lists = [.failure(Failure(.throttled, remedy, "429"))] }
                bell.ringSoon()
                try await clock.run(until: clock.now + .seconds(1), awaiting: 1)
                try await push(bell, clock, seconds: 100)
            }
            #expect(times == [0, 10], "the wait after a failure is at least the interval")
        }
    }

    @Test func `polls come at the interval, with jitter, counted from the start of the poll before`() async throws {
        #expect(try await polls(.every(.seconds(60)), for: .seconds(200)) == [0, 60, 120, 180])
        #expect(try await polls(.every(.seconds(60)), for: .seconds(200), delay: .seconds(10)) == [0, 60, 120, 180])
        #expect(try await polls(.every(.seconds(60)), for: .seconds(200), random: 0) == [0, 54, 108, 162])
    }

    @Test func `a poll that takes longer than its interval delays the next, which does not overlap it`() async throws {
        #expect(try await polls(.every(.seconds(60)), for: .seconds(299), delay: .seconds(100)) == [0, 100, 200])
    }

    @Test func `polls are frequent while tasks change and rare otherwise`() async throws {
        let times = try await polls(.busyIdle(busy: .seconds(15), idle: .seconds(120)), for: .seconds(480)) { source, clock, _ in
            try await clock.run(until: clock.now + .seconds(200), awaiting: 1)
            source.put(task("new"))
        }
        #expect(times == [0, 15, 135, 255, 270, 390])
    }

    @Test func `polls come at the times of a schedule`() async throws {
        let cron = try CronSchedule("*/20 10 * * *")
        let times = try await polls(.cron(cron, .utc), for: .seconds(25 * 3600 + 60))
        #expect(times == [0, 3600, 4800, 6000, 3600 + 86400])  // the first at the start, at nine
    }

    @Test(arguments: [Duration.days(1), .days(-1), .seconds(3600), .seconds(-3600), .seconds(-20)])
    func `setting the clock neither stops the polls nor causes a burst of them`(_ jump: Duration) async throws {
        let wall = WallClock()
        let bench = try Bench(clock: wall.steady, wall: wall)
        let source = ScriptedSource(tasks: tasks(0..<3), clock: wall.steady)
        let (clock, start) = (wall.steady, wall.steady.now)
        try await bench.whilePolling(source) {
            try await clock.run(until: start + .seconds(130), awaiting: 1)
            wall.set(by: jump)
            try await clock.run(until: start + .seconds(430), awaiting: 1)
        }
        let times = source.requests.lists.map { ($0 - start) / .seconds(1) }
        let waits = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(waits.allSatisfy { (10...90).contains($0) }, "\(times)")
        #expect((7...8).contains(times.count), "\(times)")
    }

    @Test func `setting the clock back during a poll does not delay the next`() async throws {
        let wall = WallClock()
        let bench = try Bench(clock: wall.steady, wall: wall)
        let source = ScriptedSource(tasks: tasks(0..<3), clock: wall.steady, delay: .seconds(10))
        let (clock, start) = (wall.steady, wall.steady.now)
        try await bench.whilePolling(source) {
            try await clock.run(until: start + .seconds(65), awaiting: 1)
            wall.set(by: .seconds(-3600))
            try await clock.run(until: start + .seconds(300), awaiting: 1)
        }
        // The poll that began at 60 ends at 70; from then on, the next one is due in a minute.
        #expect(source.requests.lists.map { ($0 - start) / .seconds(1) } == [0, 60, 130, 190, 250])
    }

    @Test func `a rest that began while the clock was ahead takes no longer after the clock is set back`() async throws {
        let wall = WallClock()
        let bench = try Bench(clock: wall.steady, wall: wall)
        let source = ScriptedSource(clock: wall.steady)
        source.set(tasks(0..<3))
        let start = wall.steady.now
        // The dispatcher has nothing to do, and waits.
        let loop = bench.dispatching(ScriptedAction())
        try await bench.whilePolling(source) {
            await bench.run(until: start + .seconds(10))
            wall.set(by: .seconds(3 * 3600))
            source.edit { $0.lists = [.failure(Failure(.throttled, .rest(.seconds(120)), "429"))] }
            await bench.run(until: start + .seconds(70))
            #expect(source.requests.lists.count == 2)
            wall.set(by: .seconds(-3 * 3600))
            await bench.run(until: start + .seconds(400))
        }
        await loop.stop()
        let times = source.requests.lists.map { ($0 - start) / .seconds(1) }
        #expect(times.count > 2 && times[2] < 250, "\(times)")
    }

    @Test func `details are refreshed as usual on a day that the clock repeats`() async throws {
        let wall = WallClock()
        let bench = try Bench(clock: wall.steady, wall: wall)
        let source = bench.source(tasks(0..<3))
        let plan = PollPlan(cadence: .every(.seconds(60)), refresh: RefreshPolicy(interval: .seconds(300)))
        var poller = try await bench.polled(source, plan)
        wall.set(by: .days(-1))
        for _ in 0..<7 {
            _ = try await poller.pollOnce()
            await wall.steady.advance(by: .seconds(60))
        }
        #expect(source.requests.details.count == 3)
    }
}
