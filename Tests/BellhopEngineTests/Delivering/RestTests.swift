import BellhopCore
import BellhopTesting
import Synchronization
import Testing

@testable import BellhopEngine

@Suite(.timeLimit(.minutes(5))) struct `Rests of receivers` {
    /// Accepts one message a second and refuses others with that interval.
    private final class Chat: Sendable {
        struct State {
            var latest = Timestamp.distantPast
            var posts = 0
            var taken: [(text: String, at: Timestamp)] = []
        }
        let state = Mutex(State())

        func post(_ text: String, at now: Timestamp) throws(Failure) -> Receipt {
            let isTaken = state.withLock { state in
                state.posts += 1
                guard now - state.latest >= .seconds(1) else { return false }
                state.latest = now
                state.taken.append((text, now))
                return true
            }
            if !isTaken { throw Failure(.throttled, .rest(.seconds(1)), "429") }
            return Receipt("ok")
        }
    }

    /// With more time where it is needed: on a busy machine the clock may move before the dispatcher has gone on.
    @Test(arguments: [(50, 55, 100), (150, 165, 300)])
    func `a receiver that accepts one message a second gets all in time, with few refusals`(
        _ count: Int, _ posts: Int, _ seconds: Int
    ) async throws {
        let bench = try Bench()
        let chat = Chat()
        let clock = bench.clock
        let action = ScriptedAction { delivery, _ throws(Failure) in try chat.post(delivery.text, at: clock.now) }
        try await bench.enqueue((0..<count).map { TestDelivery("\(1000 + $0)") })
        let start = bench.now
        let loop = bench.dispatching(action)
        for round in 1...5 where chat.state.withLock({ $0.taken.count }) < count {
            await bench.run(until: start + .seconds(seconds * round))
        }
        await loop.stop()
        let (made, taken) = chat.state.withLock { ($0.posts, $0.taken.map(\.text)) }
        #expect(taken.count == count)
        #expect(made <= posts, "\(made) posts")
        // Except for those sent together at the beginning, messages arrive in order.
        #expect(Array(taken.dropFirst()) == taken.dropFirst().sorted())
        #expect(try await bench.deliveries().allSatisfy { $0.state == .done })
        #expect(action.performed.allSatisfy { $0.attempt.number == 1 })
    }

    @Test func `a rest applies to all deliveries of its receiver, survives a restart, and counts no attempt`() async throws {
        let bench = try Bench()
        let action = ScriptedAction(failing: Failure(.throttled, .rest(.seconds(600)), "429"))
        try await bench.enqueue(
            (0..<10).map { TestDelivery("\($0)", retry: RetryPolicy(attempts: 1, base: .seconds(1), cap: .seconds(1))) })
        try await Dispatcher(bench.context, actions: { _ in action }).dispatchPending()
        let refused = action.count
        #expect(refused <= 3)
        #expect(try await bench.store.stops().map(\.until) == [bench.now + .seconds(600)])
        action.script { _, _ in Receipt("done") }
        // Another run of the agent.
        let dispatcher = Dispatcher(bench.restarted, actions: { _ in action })
        let start = bench.now
        let loop = Task { await dispatcher.run() }
        await bench.run(until: start + .seconds(599))
        #expect(action.count == refused)
        #expect(try await bench.deliveries().allSatisfy { $0.state == .available })
        await bench.run(until: start + .seconds(660))
        await loop.stop()
        #expect(try await bench.deliveries(.done).count == 10)
        #expect(action.performed.allSatisfy { $0.attempt.number == 1 })
        #expect(action.texts.suffix(10).elementsEqual(action.texts.suffix(10).sorted()))
    }

    @Test func `a shorter rest from a delivery does not end a longer rest from a poll`() {
        let receivers = Receivers()
        let now = Timestamp(seconds: 1_767_600_000)
        _ = receivers.recordPoll(.seconds(3600), of: "snow", reason: "429", at: now)
        let failure = Failure(.throttled, .rest(.seconds(5)), "429")
        let kept = receivers.withGates { $0["snow"]?.ended(.failed(failure), began: now, at: now) }
        #expect(kept?.stops.map(\.until) == [now + .seconds(3600)])
        #expect(receivers.rest(of: "snow", at: now + .seconds(10))?.until == now + .seconds(3600))
    }

    @Test(arguments: [true, false]) func `deliveries wait for a rest that their connection asked a poll for`(
        _ isRestarted: Bool
    ) async throws {
        let (bench, source) = try Bench.with()
        source.edit { state in
            state.receiver = "snow"
            state.lists = [.failure(Failure(.throttled, .rest(.seconds(600)), "429"))]
        }
        var poller = bench.poller(source)
        #expect(try await poller.pollOnce().isFailed)
        let action = ScriptedAction { _, _ in Receipt("done") }
        try await bench.enqueue([TestDelivery("1", receiver: "snow"), TestDelivery("2", receiver: "chat")])
        let dispatcher = Dispatcher(isRestarted ? bench.restarted : bench.context, actions: { _ in action })
        #expect(try await dispatcher.dispatchPending() == 1)
        #expect(action.texts == ["2"])
        await bench.clock.advance(by: .seconds(590))
        #expect(try await dispatcher.dispatchPending() == 0)
        await bench.clock.advance(by: .seconds(10))
        try await dispatcher.dispatchPending()
        #expect(action.texts == ["2", "1"])
        #expect(action.performed.allSatisfy { $0.attempt.number == 1 })
    }

    @Test(arguments: [true, false]) func `polls wait for a rest that their connection asked a delivery for`(
        _ isRestarted: Bool
    ) async throws {
        let (bench, source) = try Bench.with()
        source.edit { $0.receiver = "snow" }
        let action = ScriptedAction(failing: Failure(.throttled, .rest(.seconds(600)), "429"))
        try await bench.enqueue([TestDelivery("1", receiver: "snow")])
        try await Dispatcher(bench.context, actions: { _ in action }).dispatchPending()
        var poller = Poller(source, plan: .minutely, in: isRestarted ? bench.restarted : bench.context)
        #expect(try await poller.pollOnce().isFailed)
        #expect(source.requests.lists.isEmpty)
        await bench.clock.advance(by: .seconds(600))
        #expect(try await poller.pollOnce().isFailed == false)
        #expect(source.requests.lists.count == 1)
        // The source itself works, so this does not count as its failure.
        #expect(try await bench.eventLines().isEmpty)
    }

    @Test func `a run that is meant to end waits for the end of a short rest, and not of a long one`() async throws {
        for (rest, polls) in [(Duration.seconds(2), 2), (.seconds(3600), 1)] {
            let (bench, source) = try Bench.with(tasks(0..<1))
            source.edit { $0.lists = [.failure(Failure(.throttled, .rest(rest), "429"))] }
            @Sendable func runOnce(_ context: EngineContext) async throws {
                _ = try await Engine(context, shelf: RuleShelf(), sources: [(source, .minutely)], actions: { _ in nil }).runOnce()
            }
            try await runOnce(bench.context)
            let running = Task { try await runOnce(bench.restarted) }
            await bench.run(until: bench.now + .seconds(10))
            try await running.value
            #expect(source.requests.lists.count == polls)
        }
    }

    @Test func `a rest does not affect other receivers`() async throws {
        let bench = try Bench()
        let busy = Failure(.throttled, .rest(.seconds(600)), "429")
        let action = ScriptedAction(failing: busy) { delivery, _ in delivery.id.receiver == "busy" }
        try await bench.enqueue((0..<20).map { TestDelivery("\($0)", receiver: $0 % 2 == 0 ? "busy" : "free") })
        try await Dispatcher(bench.context, actions: { _ in action }).dispatchPending()
        #expect(try await bench.deliveries(.done).count == 10)
        #expect(action.performed.count { $0.delivery.id.receiver == "busy" } <= 3)
    }

    @Test func `waiting for a busy receiver is not an attempt, and a stop leaves the delivery available`() async throws {
        let bench = try Bench()
        let gate = Gate()
        let action = ScriptedAction(waitingAt: gate)
        try await bench.enqueue((0..<5).map { TestDelivery("\($0)") })
        let dispatcher = Dispatcher(
            bench.context, receivers: { _ in ReceiverLimits(concurrency: 1) }, actions: { _ in action })
        let stop = StopFlag()
        let loop = Task { await dispatcher.run(until: stop) }
        try await waitUntil { action.count != 0 }
        stop.raise()
        bench.context.bells.dispatcher.ring()
        gate.open()
        await loop.value
        #expect(action.count == 1)
        let left = try await bench.deliveries(.available)
        #expect(left.count == 4)
        #expect(left.allSatisfy { $0.attempts == 0 })
    }
}
