import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// Login events, and their effect on deliveries resting on the connection.
@Suite(.timeLimit(.minutes(5))) struct `Logins` {
    let bench: Bench

    init() throws { bench = try Bench() }

    private func login(_ ok: Bool, at now: Timestamp) -> Event {
        Event(
            id: Event.ID(type: .loginEvent, facts: "snow", String(now.microseconds)), type: .loginEvent, source: "snow",
            subject: "connection/snow", time: now, data: ["connection": "snow", "user": "ada", "ok": .bool(ok), "reason": ""])
    }

    @Test func `a login that is emitted again is stored and reported as one event`() async throws {
        for _ in 0..<2 { try await Intake(bench.context).emit([login(false, at: bench.now)]) }
        #expect(try await bench.eventLines() == ["login_event connection/snow "])
        #expect(bench.recorder.count("event") == 1)
    }

    @Test func `a login is stored even if its task is cancelled`() async throws {
        let (context, event) = (bench.context, login(false, at: bench.now))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await Intake(context).emit([event])
        }
        try await task.value
        #expect(try await bench.eventLines().count == 1)
    }

    @Test func `emitting an event that cannot be stored throws`() async throws {
        bench.store.failOnce(.append)
        await #expect(throws: StoreError.self) { try await Intake(bench.context).emit([login(true, at: bench.now)]) }
        #expect(bench.recorder.names == [])
        #expect(try await bench.eventLines() == [])
    }

    @Test(arguments: FaultyStore.Moment.all)
    func `an event that could not be stored is reported, and stored before the next one`(_ moment: FaultyStore.Moment)
        async throws
    {
        bench.store.failOnce(.append, moment)
        try await report(login(true, at: bench.now), to: Intake(bench.context))
        #expect(bench.recorder.names == ["store.failed"])
        try await report(login(false, at: bench.now + .seconds(1)), to: Intake(bench.context))
        #expect(try await bench.eventLines().count == 2)
        #expect(bench.recorder.names == ["store.failed", "event", "event"])
    }

    @Test func `a failure of the store that repeats is reported at once, and then once a minute with a count`() async throws {
        let reported = Recorder()
        let listener = Signals.groupingRepetitions({ reported.signals.emit($0) }, clock: bench.clock)
        func fail(_ doing: String, _ kind: StoreError.Kind = .full) { listener(.storeFailed(doing: doing, StoreError(kind, ""))) }
        for _ in 1...3 { fail("storing") }
        fail("claiming")
        fail("storing", .damaged)
        #expect(reported.failures == ["storing: 1", "claiming: 1", "storing: 1"])
        await bench.clock.advance(by: .seconds(59))
        fail("storing")
        #expect(reported.failures.count == 3)
        await bench.clock.advance(by: .seconds(1))
        for _ in 1...2 { fail("storing") }
        #expect(reported.failures.dropFirst(3) == ["storing: 4"])
    }

    @Test func `refused requests to a source are reported once a minute with a count, others beside them`() async throws {
        let clock = TestClock()
        let reported = Recorder()
        let listener = Signals.groupingRepetitions({ reported.signals.emit($0) }, clock: clock)
        func refuse(_ source: String, _ status: Int) { listener(.requestRefused(source: source, status: status, reason: "")) }
        for _ in 1...3 { refuse("deploys", 401) }
        refuse("deploys", 400)
        refuse("alerts", 401)
        await clock.advance(by: .seconds(60))
        refuse("deploys", 401)
        let times = reported.all.compactMap { signal in
            if case .requestRefused(let source, let status, _, let times) = signal {
                "\(source) \(status): \(times)"
            } else {
                nil
            }
        }
        #expect(times == ["deploys 401: 1", "deploys 400: 1", "alerts 401: 1", "deploys 401: 3"])
    }

    @Test func `an event that could not be stored is stored once the store works again`() async throws {
        let shelf = try await bench.shelf("rule: tell\non: login_event\ndo: [{log: hello}]")
        bench.store.fail { $0 == .append ? .before : nil }
        let loop = Task { await Router(bench.context, shelf: shelf).run() }
        try await report(login(true, at: bench.now), to: Intake(bench.context))
        await bench.run(until: bench.now + .seconds(10))
        #expect(try await bench.eventLines() == [])
        bench.store.stopFailing()
        await bench.run(until: bench.now + .seconds(10))
        await loop.stop()
        #expect(try await bench.eventLines().count == 1)
        #expect(try await bench.deliveries().count == 1)
    }

    @Test func `if more than a thousand events wait, the oldest are dropped and reported`() async throws {
        let events = (0..<1002).map { login(true, at: bench.now + .seconds($0)) }
        Intake(bench.context).retry(events, after: StoreError(.full, "The disk is full."))
        let dropped = bench.recorder.all.compactMap { signal in
            if case .eventDropped(let event) = signal { event.id } else { nil }
        }
        #expect(dropped == events.prefix(2).map(\.id))
        try await Intake(bench.context).emit([])
        #expect(try await bench.eventLines().count == 1000)
    }

    @Test(arguments: [true, false])
    func `an engine that stops stores the waiting events, or reports that it drops them`(_ works: Bool) async throws {
        let engine = Engine(
            bench.context, shelf: try await bench.shelf("rule: r\non: login_event\ndo: [{log: x}]"), sources: []
        ) { _ in nil }
        if !works { bench.store.fail { $0 == .append ? .before : nil } }
        Intake(bench.context).retry([login(true, at: bench.now)], after: StoreError(.full, "The disk is full."))
        _ = try await engine.runOnce()
        #expect(bench.recorder.count("event") == (works ? 1 : 0))
        #expect(bench.recorder.count("event.dropped") == (works ? 0 : 1))
    }

    /// Reports a login as a connection does.
    private func report(_ event: Event, to intake: Intake) async throws {
        do throws(StoreError) { try await intake.emit([event]) } catch { intake.retry([event], after: error) }
    }

    @Test func `a login is stored even if its waiting deliveries cannot be woken`() async throws {
        bench.store.failOnce(.wake)
        try await Intake(bench.context).emit([login(true, at: bench.now)])
        #expect(bench.recorder.names == ["event", "store.failed"])
        #expect(try await bench.eventLines().count == 1)
    }

    @Test(arguments: [true, false]) func `a delivery resting on its connection is woken by a successful login`(
        _ ok: Bool
    ) async throws {
        let action = ScriptedAction { _, attempt throws(Failure) in
            if attempt.lastUncertain == nil, attempt.now == TestClock().now {
                throw Failure(.unauthenticated, .pauseConnection, "401")
            }
            return Receipt("done")
        }
        try await bench.enqueue([.init("a", receiver: "snow")])
        let loop = bench.dispatching(action)
        try await waitUntil { bench.recorder.count("delivery.paused") != 0 }
        try await bench.clock.waitForSleepers(1)
        await bench.clock.advance(by: .seconds(10))
        try await Intake(bench.context).emit([login(ok, at: bench.now)])
        if ok {
            try await waitUntil { bench.recorder.count("delivery.done") != 0 }
            #expect(action.performed.map(\.attempt.number) == [1, 1])
        } else {
            await bench.clock.advance(by: .seconds(280))
            #expect(action.count == 1)
            await bench.clock.advance(by: .seconds(11))
            try await waitUntil { bench.recorder.count("delivery.done") != 0 }
        }
        await loop.stop()
    }
}
