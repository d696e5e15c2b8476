import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

@Suite struct `Failing polls` {
    private let failure = Failure(.gateway, .retry(after: nil), "502 Bad Gateway")

    /// The waits between polls, in seconds, of a source that always fails with this failure.
    private func waits(_ failure: Failure, polls: Int, random: Double = 0.5, cap: Duration = .seconds(900)) async throws
        -> [Double]
    {
        let bench = try Bench(random: random)
        let source = bench.source()
        source.edit { $0.lists = Array(repeating: .failure(failure), count: polls + 1) }
        let plan = PollPlan(cadence: .every(.seconds(60)), failureCap: cap)
        let clock = bench.clock
        try await bench.whilePolling(source, plan) {
            while source.requests.lists.count <= polls {
                // The clock moves only to where the poller sleeps, however late it is on a busy machine.
                try await clock.waitForSleepers(1)
                if let next = clock.nextDeadline { await clock.advance(to: next) }
            }
        }
        let times = source.requests.lists.prefix(polls + 1)
        return zip(times.dropFirst(), times).map { ($0 - $1) / .seconds(1) }
    }

    @Test func `the waits between failing polls grow up to the cap`() async throws {
        let waits = try await waits(failure, polls: 8)
        #expect(waits == [60, 90, 180, 360, 675, 675, 675, 675])
    }

    @Test func `a failing poll is never repeated sooner than a successful one`() async throws {
        #expect(try await waits(failure, polls: 3, random: 0) == [54, 54, 108])
    }

    @Test func `the other side's Retry-After is respected`() async throws {
        let waits = try await waits(Failure(.quota, .retry(after: .seconds(1200)), "429"), polls: 2)
        #expect(waits == [1200, 1200])
    }

    @Test func `a source that asked for a rest is not polled until it ends, across a restart`() async throws {
        var (bench, source, poller) = try await Bench.polled(tasks(0..<2))
        source.edit { $0.lists = [.failure(Failure(.throttled, .rest(.seconds(1200)), "503"))] }
        #expect(try await poller.pollOnce().isFailed)
        let asked = source.requests.lists.count
        await bench.clock.advance(by: .seconds(600))
        var another = Poller(source, plan: .minutely, in: bench.restarted)
        #expect(try await another.pollOnce().isFailed)
        #expect(source.requests.lists.count == asked)
        await bench.clock.advance(by: .seconds(600))
        #expect(try await another.pollOnce().isFailed == false)
        #expect(source.requests.lists.count == asked + 1)
    }

    @Test func `a source whose connection needs a person is polled rarely`() async throws {
        #expect(try await waits(Failure(.unauthenticated, .pauseConnection, "401"), polls: 2) == [300, 300])
    }

    @Test(arguments: [1, 2])
    func `a recovery is signalled, however few polls had failed; fewer than three cause no event`(_ count: Int) async throws {
        var (bench, source, poller) = try await Bench.polled(tasks(0..<2))
        source.edit { $0.lists = Array(repeating: .failure(failure), count: count) }
        for _ in 0..<count { #expect(try await poller.pollOnce().isFailed) }
        #expect(bench.recorder.count("source.recovered") == 0)
        for _ in 0..<2 { _ = try await poller.pollOnce() }
        #expect(bench.recorder.count("source.recovered") == 1)
        #expect(try await bench.eventLines() == [])
    }

    @Test func `a source that waits for a person is polled at once when it is woken`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        source.edit { $0.lists = [.failure(Failure(.unauthenticated, .pauseConnection, "401"))] }
        let bell = PollBell()
        try await bench.whilePolling(source, bell: bell) {
            try await bench.clock.waitForSleepers(1)
            #expect(source.requests.lists.count == 1)
            bell.ringNow()
            for _ in 0..<10_000 where source.requests.lists.count < 2 { await bench.clock.settle() }
        }
        #expect(source.requests.lists == [bench.now, bench.now])
    }

    @Test func `three failures in a row are reported once, and so is the recovery`() async throws {
        var (bench, source, poller) = try await Bench.polled(tasks(0..<2))
        let since = bench.now
        source.edit { $0.lists = Array(repeating: .failure(failure), count: 5) }
        for failures in 1...5 {
            #expect(try await poller.pollOnce().isFailed)
            await bench.clock.advance(by: .seconds(60))
            #expect(
                try await bench.eventLines() == (failures < 3 ? [] : ["source_failing source/my-work gateway 502 Bad Gateway"]))
        }
        for _ in 0..<2 { _ = try await poller.pollOnce() }
        #expect(
            try await bench.eventLines() == [
                "source_failing source/my-work gateway 502 Bad Gateway", "source_recovered source/my-work 502 Bad Gateway",
            ])
        let events = try await bench.store.events(EventQuery()).map(\.event)
        #expect(events.map { $0.data["since"] } == [.string(since.rfc3339), .string(since.rfc3339)])
        #expect(events.allSatisfy { $0.source == "my-work" })
    }

    @Test func `the recovery is reported once, also if the source works again with another account`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        source.edit { $0.lists = Array(repeating: .failure(failure), count: 3) }
        var poller = bench.poller(source)
        for _ in 0..<3 { _ = try await poller.pollOnce() }
        let moved = ScriptedSource(tasks: tasks(0..<2), instance: "https://other.example", clock: bench.clock)
        for source in [moved, moved, source] {
            var poller = bench.poller(source)
            #expect(try await poller.pollOnce().isFailed == false)
            #expect(
                try await bench.eventLines() == [
                    "source_failing source/my-work gateway 502 Bad Gateway", "source_recovered source/my-work 502 Bad Gateway",
                ])
        }
    }

    @Test(arguments: ["renamed", nil])
    func `a failing source that is renamed or removed recovers under its old name, once, and fails anew under its new one`(
        _ name: String?
    ) async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        source.edit { $0.lists = Array(repeating: .failure(failure), count: 3) }
        var poller = bench.poller(source)
        for _ in 0..<3 { _ = try await poller.pollOnce() }
        let failing = "source_failing source/my-work gateway 502 Bad Gateway"
        try await bench.engine(ScriptedAction(), sources: [source]).recover()
        #expect(try await bench.eventLines() == [failing])
        let sources = name.map { [ScriptedSource($0, tasks: [], clock: bench.clock)] } ?? []
        for _ in 1...2 { try await bench.engine(ScriptedAction(), sources: sources).recover() }
        let ended = [failing, "source_recovered source/my-work 502 Bad Gateway"]
        #expect(try await bench.eventLines() == ended)
        guard let renamed = sources.first else { return }
        renamed.edit { $0.lists = Array(repeating: .failure(failure), count: 3) }
        var another = bench.poller(renamed)
        for _ in 0..<3 { _ = try await another.pollOnce() }
        #expect(try await bench.eventLines() == ended + ["source_failing source/renamed gateway 502 Bad Gateway"])
    }

    @Test func `a failing source recovers under its old name also if another source has this name now`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        source.edit { $0.lists = Array(repeating: .failure(failure), count: 3) }
        var poller = bench.poller(source)
        for _ in 0..<3 { _ = try await poller.pollOnce() }
        let renamed = ScriptedSource("renamed", tasks: tasks(0..<2), clock: bench.clock)
        let other = ScriptedSource(tasks: tasks(0..<2), instance: "https://other.example", clock: bench.clock)
        for _ in 1...2 { try await bench.engine(sources: [renamed, other]).recover() }
        for source in [renamed, other] {
            _ = try await bench.polled(source)
        }
        #expect(
            try await bench.eventLines() == [
                "source_failing source/my-work gateway 502 Bad Gateway", "source_recovered source/my-work 502 Bad Gateway",
            ])
    }

    @Test(arguments: [Failure.Remedy.giveUp, .pauseConnection])
    func `a failure that needs a person is reported at once`(_ remedy: Failure.Remedy) async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        source.edit { $0.lists = [.failure(Failure(.forbidden, remedy, "403"))] }
        _ = try await bench.polled(source)
        #expect(try await bench.eventLines() == ["source_failing source/my-work forbidden 403"])
    }

    @Test func `failures are counted across restarts and not reported again`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        source.edit { $0.lists = Array(repeating: .failure(failure), count: 6) }
        for _ in 0..<6 {
            _ = try await bench.polled(source)
            await bench.clock.advance(by: .seconds(60))
        }
        #expect(try await bench.eventLines() == ["source_failing source/my-work gateway 502 Bad Gateway"])
        var poller = bench.poller(source)
        for _ in 0..<2 { _ = try await poller.pollOnce() }
        #expect(try await bench.eventLines().count == 2)
    }

    @Test func `a failing store does not make polls more frequent`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        bench.store.fail { $0 == .commit ? .before : nil }
        let clock = bench.clock
        try await bench.whilePolling(source) {
            try await clock.run(until: clock.now + .seconds(300), awaiting: 1)
            #expect(source.requests.lists.count == 6)
            bench.store.stopFailing()
            try await clock.run(until: clock.now + .seconds(60), awaiting: 1)
        }
        #expect(bench.recorder.count("source.baseline") == 1)
    }

    @Test func `a failing store is retried after seconds`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        bench.store.fail { $0 == .open ? .before : nil }
        let clock = bench.clock
        try await bench.whilePolling(source) {
            try await clock.run(until: clock.now + .seconds(9), awaiting: 1)
            #expect(source.requests.lists.isEmpty)
            #expect(bench.recorder.count("store.failed") == 5)
            bench.store.stopFailing()
            try await clock.run(until: clock.now + .seconds(2), awaiting: 1)
        }
        #expect(source.requests.lists.count == 1)
    }
}
