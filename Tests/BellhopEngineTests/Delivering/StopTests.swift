import BellhopCore
import BellhopEngine
import BellhopTesting
import Synchronization
import Testing

/// `on_error: stop`, from the rule to the deliveries.
@Suite(.timeLimit(.minutes(5))) struct `Steps that stop a run` {
    private let rule = """
        rule: tell
        on: task_created
        do:
          - log: first
          - comment: second
            on_error: stop
          - log: {text: third, file: third.log}
          - log: {text: fourth, file: fourth.log}
            on_error: stop
          - log: {text: fifth, file: fifth.log}
        """

    private func bench(_ action: ScriptedAction) async throws -> (Bench, Dispatcher) {
        let bench = try Bench()
        let shelf = try await bench.shelf(rule)
        try await bench.store.append([.created(1, at: bench.now)])
        #expect(try await Router(bench.context, shelf: shelf).routePending() == 1)
        return (bench, Dispatcher(bench.context, actions: { _ in action }))
    }

    private func states(_ bench: Bench) async throws -> [DeliveryState] { try await bench.deliveries().map(\.state) }

    @Test func `a later step waits until the step before it is done, however many retries that takes`() async throws {
        let action = ScriptedAction(failing: Failure(.gateway, .retry(after: nil), "502")) { delivery, attempt in
            delivery.text == "second" && attempt.number < 3
        }
        let (bench, dispatcher) = try await bench(action)
        let loop = Task { await dispatcher.run() }
        try await waitUntil { action.count == 2 }
        try await waitUntil { try await states(bench) == [.done, .available, .waiting, .waiting, .waiting] }
        await bench.run(until: bench.now + .seconds(600))
        await loop.stop()
        #expect(try await states(bench) == [.done, .done, .done, .done, .done])
        #expect(Set(action.texts[..<2]) == ["first", "second"])
        #expect(action.texts[2..<4] == ["second", "second"])
        #expect(Set(action.texts[4..<6]) == ["third", "fourth"])
        #expect(action.texts[6...] == ["fifth"])
    }

    @Test func `a step after a dead one is not performed until a person retries the dead one`() async throws {
        let isBroken = Mutex(true)
        let action = ScriptedAction(failing: Failure(.refused, .giveUp, "400")) { delivery, _ in
            delivery.text == "second" && isBroken.withLock { $0 }
        }
        let (bench, dispatcher) = try await bench(action)
        #expect(try await dispatcher.dispatchPending() == 2)
        #expect(try await states(bench) == [.done, .dead, .dropped, .dropped, .dropped])
        #expect(try await bench.deliveries(.dropped).map(\.failure?.reason) == [.stopped, .stopped, .stopped])
        #expect(try await bench.eventLines().last?.hasPrefix("delivery_dead") == true)
        isBroken.withLock { $0 = false }
        let dead = try await bench.deliveries(.dead).map(\.delivery.id)
        #expect(try await bench.store.apply(.retry, to: dead, at: bench.now) == 1)
        #expect(try await dispatcher.dispatchPending() == 4)
        #expect(try await states(bench) == [.done, .done, .done, .done, .done])
        #expect(action.count == 6)
    }
}
