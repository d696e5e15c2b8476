import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// Deliveries on a machine whose clock is set.
@Suite(.timeLimit(.minutes(5))) struct `Deliveries and the clock` {
    @Test func `setting the clock back does not delay a retry`() async throws {
        let wall = WallClock()
        let bench = try Bench(clock: wall.steady, wall: wall)
        let action = ScriptedAction(failing: Failure(.throttled, .retry(after: .seconds(600)), "429")) { $1.number == 1 }
        try await bench.enqueue([TestDelivery("a")])
        let loop = bench.dispatching(action)
        await bench.run(until: bench.now + .seconds(5))
        #expect(action.count == 1)
        // By the clock as it is now, the next attempt is due three days and ten minutes from now.
        wall.set(by: .days(-3))
        await bench.run(until: bench.now + .seconds(300))
        await loop.stop()
        #expect(action.count == 2)
        #expect(try await bench.deliveries().map(\.state) == [.done])
    }

    @Test(arguments: [Duration.days(1), .days(-1), .seconds(90), .seconds(-90)])
    func `a clock that jumps is reported once`(_ jump: Duration) async throws {
        let wall = WallClock()
        let bench = try Bench(clock: wall.steady, wall: wall)
        let loop = Task { await Maintenance(bench.context, retention: Retention()).run() }
        await bench.run(until: bench.now + .seconds(600))
        #expect(bench.jumps == [], "normal time is not a jump")
        wall.set(by: jump)
        await bench.run(until: bench.now + .seconds(600))
        await loop.stop()
        #expect(bench.jumps == [jump])
    }
}

@Suite(.timeLimit(.minutes(5))) struct `Retention and the clock` {
    /// The number of events left in a store with three, after maintenance ran while the clock was set.
    private func left(
        after jump: Duration, restarting: Bool = false, then time: Duration = .seconds(7200), retention: Retention = Retention()
    )
        async throws -> Int
    {
        let wall = WallClock()
        let bench = try Bench(clock: wall.steady, wall: wall)
        try await bench.store.append((0..<3).map { .test($0, at: bench.now) })
        try await bench.store.route(Routing(routed: [1, 2, 3]))
        func start() -> Task<Void, Never> { Task { await Maintenance(bench.context, retention: retention).run() } }
        var loop = start()
        await bench.run(until: bench.now + .seconds(600))
        if restarting { await loop.stop() }
        wall.set(by: jump)
        if restarting { loop = start() }
        await bench.run(until: bench.now + time)
        await loop.stop()
        return try await bench.store.events(EventQuery()).count
    }

    @Test(arguments: [Duration.days(60), .days(500), .days(40_000)], [false, true])
    func `a clock that jumps ahead does not cause recent rows to be deleted`(_ jump: Duration, _ restarting: Bool) async throws {
        #expect(try await left(after: jump, restarting: restarting) == 3)
    }

    @Test func `retention counts elapsed time, even if the clock is set`() async throws {
        // The newest event is never deleted.
        let retention = Retention(events: .seconds(3 * 3600))
        #expect(try await left(after: .days(60), then: .seconds(2 * 3600), retention: retention) == 3)
        #expect(try await left(after: .days(60), then: .seconds(5 * 3600), retention: retention) == 1)
        #expect(try await left(after: .zero, then: .seconds(5 * 3600), retention: retention) == 1)
    }
}

extension Event {
    fileprivate static func test(_ number: Int, at time: Timestamp) -> Event {
        Event(id: ID("event-\(number)"), type: .taskCreated, source: "tasks", subject: "task/\(number)", time: time, data: [:])
    }
}

extension Bench {
    fileprivate var jumps: [Duration] {
        recorder.all.compactMap { signal in if case .clockJumped(let by) = signal { by } else { nil } }
    }
}
