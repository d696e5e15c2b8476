import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// The outcomes of attempts: done, retried, given up, held, resting; never dropped in silence.
@Suite(.timeLimit(.minutes(5))) struct `Attempts` {
    let bench: Bench

    init() throws { bench = try Bench() }

    private let gateway = Failure(.gateway, .retry(after: nil), "502")

    /// Runs the dispatcher over these deliveries for a while. Returns when each attempt began, in seconds.
    private func run(
        _ bench: Bench, _ deliveries: [TestDelivery], _ action: ScriptedAction, for time: Duration = .days(1),
        receiver: ReceiverLimits = ReceiverLimits()
    ) async throws -> [Double] {
        try await bench.enqueue(deliveries)
        let start = bench.now
        let loop = bench.dispatching(action, receivers: { _ in receiver })
        await bench.run(until: start + time)
        await loop.stop()
        return action.performed.map { ($0.attempt.now - start) / .seconds(1) }
    }

    @Test func `a delivery is performed once, and its receipt is stored`() async throws {
        let action = ScriptedAction { delivery, _ in Receipt("201", reference: "ref-\(delivery.text)") }
        _ = try await run(bench, [TestDelivery("a"), TestDelivery("b")], action)
        #expect(Set(action.texts) == ["a", "b"])
        #expect(action.count == 2)
        let records = try await bench.deliveries()
        #expect(records.map(\.state) == [.done, .done])
        #expect(records.map(\.receipt) == [Receipt("201", reference: "ref-a"), Receipt("201", reference: "ref-b")])
        #expect(bench.recorder.count("delivery.done") == 2)
    }

    @Test func `a delivery is not performed before it is due`() async throws {
        let times = try await run(bench, [TestDelivery("a", runAt: bench.now + .seconds(90))], ScriptedAction())
        #expect(times == [90])
    }

    @Test func `a failing delivery is retried with growing waits, and dead after its last attempt`() async throws {
        let action = ScriptedAction(failing: gateway)
        let times = try await run(bench, [TestDelivery("a")], action)
        #expect(times == [0, 6, 18, 42])  // waits of 8, 16 and 32 seconds times 3/4, as the random number is 0.5
        #expect(action.performed.map(\.attempt.number) == [1, 2, 3, 4])
        #expect(action.performed.map(\.attempt.firstStarted) == [nil] + Array(repeating: TestClock().now, count: 3))
        #expect(try await bench.deliveries(.dead).map(\.failure) == [gateway])
        #expect(bench.recorder.count("delivery.retrying") == 3)
        #expect(bench.recorder.count("delivery.dead") == 1)
        let event = try #require(try await bench.store.events(EventQuery()).first?.event)
        #expect(event.type == .deliveryDead)
        #expect(event.data["error"]?["message"] == "502")
    }

    @Test func `the other side's Retry-After is respected`() async throws {
        let action = ScriptedAction(failing: Failure(.quota, .retry(after: .seconds(600)), "429")) { $1.number == 1 }
        #expect(try await run(bench, [TestDelivery("a")], action) == [0, 600])
    }

    @Test func `a delivery that can never succeed is given up at once`() async throws {
        let action = ScriptedAction(failing: Failure(.refused, .giveUp, "400"))
        #expect(try await run(bench, [TestDelivery("a")], action) == [0])
        #expect(try await bench.eventLines().count { $0.hasPrefix("delivery_dead") } == 1)
    }

    @Test func `a delivery that may have been received is held for a person, and its lane goes on`() async throws {
        let action = ScriptedAction(failing: Failure(.notWritten, .hold, "unknown")) { delivery, _ in delivery.text == "a" }
        #expect(try await run(bench, [TestDelivery("a", lane: "l"), TestDelivery("b", lane: "l")], action).count == 2)
        #expect(try await bench.deliveries(.held).map(\.delivery.text) == ["a"])
        #expect(try await bench.deliveries(.done).map(\.delivery.text) == ["b"])
        #expect(bench.recorder.count("delivery.held") == 1)
        // A person orders a retry: the attempt knows that an earlier one may have been received.
        action.script { _, _ in Receipt("done") }
        try await bench.store.apply(.retry, to: [TestDelivery("a", lane: "l").delivery(at: bench.now).id], at: bench.now)
        _ = try await run(bench, [], action)
        #expect(action.performed.last?.attempt.lastUncertain == TestClock().now)
        #expect(try await bench.deliveries(.done).count == 2)
    }

    @Test func `deliveries of an unusable connection rest without using up attempts`() async throws {
        let end = bench.now + .seconds(3600)
        let action = ScriptedAction(failing: Failure(.unauthenticated, .pauseConnection, "401")) { $1.now < end }
        let times = try await run(bench, [TestDelivery("a")], action)
        #expect(times == Array(stride(from: 0.0, through: 3600, by: 300)))
        #expect(action.performed.allSatisfy { $0.attempt.number == 1 })
    }

    @Test func `a rule that reports dead deliveries and whose own deliveries die does not loop for ever`() async throws {
        let shelf = try await bench.shelf(logRule(on: "delivery_dead"))
        let action = ScriptedAction(failing: Failure(.refused, .giveUp, "400"))
        let engine = bench.engine(action, shelf: shelf)
        try await bench.enqueue([TestDelivery("a")])
        _ = try await engine.runOnce()
        #expect(try await bench.store.events(EventQuery(types: [.deliveryDead])).map(\.event.hop) == [1, 2, 3, 4, 5])
        #expect(action.count == 6)
    }

    @Test func `an expired delivery is not sent, and its record gives the reason`() async throws {
        let action = ScriptedAction(failing: gateway)
        #expect(try await run(bench, [TestDelivery("a", expires: bench.now + .seconds(7))], action) == [0, 6])
        let dead = try await bench.deliveries(.dead)
        #expect(dead.map(\.failure?.reason) == [.expired] && dead.map(\.attempts) == [2])
        #expect(try await bench.eventLines().count { $0.hasPrefix("delivery_dead") } == 1)
    }

    @Test func `deliveries that have expired do not keep others from being sent`() async throws {
        let action = ScriptedAction()
        let end = bench.now + .seconds(1)
        try await bench.enqueue((0..<40).map { TestDelivery("\(100 + $0)", expires: end) } + [TestDelivery("live")])
        await bench.clock.advance(by: .seconds(2))
        #expect(try await Dispatcher(bench.context, actions: { _ in action }).dispatchPending() == 1)
        #expect(action.texts == ["live"])
        let dead = try await bench.deliveries(.dead)
        #expect(dead.count == 40 && dead.allSatisfy { $0.attempts == 0 })
    }

    @Test func `rules see in the same run that a delivery has expired`() async throws {
        let shelf = try await bench.shelf(logRule(on: "delivery_dead"))
        let action = ScriptedAction()
        let engine = bench.engine(action, shelf: shelf)
        try await bench.enqueue([TestDelivery("a", expires: bench.now + .seconds(1))])
        await bench.clock.advance(by: .seconds(2))
        _ = try await engine.runOnce()
        #expect(action.texts.count == 1 && action.texts.allSatisfy { $0.hasPrefix("tell: delivery_dead") })
    }

    @Test func `a delivery without a receiver is dead and visible`() async throws {
        try await bench.enqueue([TestDelivery("a")])
        #expect(try await Dispatcher(bench.context, actions: { _ in nil }).dispatchPending() == 1)
        #expect(try await bench.deliveries(.dead).map(\.failure?.reason) == [.missingReceiver])
    }

    @Test(arguments: [0, 600])
    func `an attempt that takes too long is cancelled, and counts as possibly received; waiting for a rate gives more time`(
        _ extraTime: Int
    ) async throws {
        let gate = Gate()
        let action = ScriptedAction { _, attempt throws(Failure) in
            if attempt.number > 1 { return Receipt("done") }
            if await gate.pass() { return Receipt("done") }
            throw Failure(.cut, .retry(after: nil), "cancelled")
        }
        let limits = ReceiverLimits(extraTime: .seconds(extraTime))
        let times = try await run(bench, [TestDelivery("a")], action, receiver: limits)
        #expect(times == [0, Double(246 + extraTime)])
        #expect(action.performed[1].attempt.lastUncertain == TestClock().now)
        #expect(try await bench.deliveries().map(\.failure?.reason) == [.timeout])
        #expect(try await bench.deliveries().map(\.state) == [.done])
    }

    @Test func `an attempt that succeeds while it is being cancelled is done`() async throws {
        let gate = Gate()
        let action = ScriptedAction { _, _ in
            _ = await gate.pass()  // until the attempt is cancelled
            return Receipt("done after all")
        }
        #expect(try await run(bench, [TestDelivery("a")], action) == [0])
        #expect(try await bench.deliveries().map(\.receipt) == [Receipt("done after all")])
    }

    @Test func `a delivery whose attempts all end the process is finally held`() async throws {
        try await bench.enqueue([TestDelivery("a")])
        for _ in 1...6 {
            let claims = try await bench.store.claim(limit: 1, excluding: [], until: bench.now + .seconds(300), at: bench.now)
            #expect(claims.count == 1)
            try await bench.store.start(.only, at: bench.now)
        }
        let action = ScriptedAction()
        #expect(try await run(bench, [], action) == [])
        let record = try #require(try await bench.deliveries(.held).first)
        #expect(record.failure?.message.hasPrefix("It was started 6 times") == true)
        try await bench.store.apply(.retry, to: [record.delivery.id], at: bench.now)
        #expect(try await run(bench, [], action, for: .seconds(1)).count == 1)
    }

    @Test func `an attempt knows the receipts of earlier deliveries to its task`() async throws {
        let action = ScriptedAction { delivery, _ in Receipt("201", reference: delivery.text) }
        let deliveries = ["a", "b", "c"].map { TestDelivery($0, lane: "task", action: "comment", task: "t1") }
        _ = try await run(bench, deliveries + [TestDelivery("other", action: "comment", task: "t2")], action)
        let claimed = Dictionary(uniqueKeysWithValues: action.performed.map { ($0.delivery.text, $0.attempt.othersReferences) })
        #expect(claimed == ["a": [], "b": ["a"], "c": ["a", "b"], "other": []])
    }

    @Test func `a store that fails while deliveries are claimed causes no loss and no duplicate`() async throws {
        for (call, moment) in [(FaultyStore.Call.claim, FaultyStore.Moment.before), (.nextDue, .before), (.nextDue, .after)] {
            let bench = try Bench()
            bench.store.failOnce(call, moment)
            let action = ScriptedAction()
            _ = try await run(bench, [TestDelivery("a")], action, for: .seconds(600))
            #expect(action.count == 1)
        }
    }

    @Test func `an outcome that the store refuses at first is stored later, without another attempt`() async throws {
        bench.store.fail { [clock = bench.clock, start = bench.now] call in
            call == .finish && clock.now < start + .seconds(60) ? .before : nil
        }
        let action = ScriptedAction()
        _ = try await run(bench, [TestDelivery("a")], action, for: .seconds(3600))
        #expect(action.count == 1)
        #expect(try await bench.deliveries().map(\.state) == [.done])
    }

    @Test func `whichever statement fails, a delivery is performed once and its outcome is stored`() async throws {
        for count in 1...60 {
            let bench = try Bench()
            let action = ScriptedAction()
            try await bench.enqueue([TestDelivery("a"), TestDelivery("b")])
            bench.fail(statement: count)
            let loop = bench.dispatching(action)
            await bench.run(until: bench.now + .seconds(600))
            await loop.stop()
            #expect(action.count == 2, "statement \(count)")
            #expect(try await bench.deliveries().map(\.state) == [.done, .done], "statement \(count)")
            if !bench.stopFailing() { return #expect(count > 10) }
        }
        #expect(Bool(false), "no run completed without a failing statement")
    }
}
