import BellhopCore
import BellhopTesting
import Testing

@Suite struct `The keys of rules` {
    private func rule(_ most: Int, calendars: String? = nil) -> RuleRegistration {
        RuleRegistration(name: "r", revision: "1", waits: "w", calendars: calendars, maxKeys: most)
    }

    private func set(_ kind: StateKey.Kind, _ key: String, _ element: String = "", value: JSON = 1) -> StateWrite {
        StateWrite(StateKey(rule: "r", kind: kind, key: key, element: element), .set(value, expires: nil))
    }

    private func keys(_ bench: Bench, _ kind: StateKey.Kind, _ names: String...) async throws -> [String] {
        let state = try await bench.store.state(for: names.map { StateKey(rule: "r", kind: kind, key: $0) })
        return names.filter { name in
            let key = StateKey(rule: "r", kind: kind, key: name)
            return state[key] != nil || !state.window(key).isEmpty
        }
    }

    @Test(arguments: Benches())
    func `keys beyond the limit are dropped and counted, the least recently written first`(_ bench: Bench) async throws {
        _ = try await bench.store.register([rule(3)], at: bench.now)
        for (second, key) in ["a", "b", "c", "a"].enumerated() {
            let routing = Routing(state: [set(.throttle, key)], at: bench.after(second))
            #expect(try await bench.store.route(routing) == .stored)
        }
        let routing = Routing(state: [set(.throttle, "d")], at: bench.after(9))
        let loss = KeyLoss(rule: "r", dropped: 1, most: 3, isStopped: false)
        #expect(try await bench.store.route(routing) == .storedWithKeyLoss([loss]))
        #expect(try await keys(bench, .throttle, "a", "b", "c", "d") == ["a", "c", "d"])
        #expect(try await bench.store.status().rules.map(\.droppedKeys) == [1])
    }

    @Test(arguments: Benches())
    func `an expired key that is dropped is no loss`(_ bench: Bench) async throws {
        _ = try await bench.store.register([rule(2)], at: bench.now)
        func use(_ key: String, at second: Int) async throws -> RouteResult {
            let key = StateKey(rule: "r", kind: .throttle, key: key)
            let write = StateWrite(key, .set(1, expires: bench.after(second + 10)))
            return try await bench.store.route(Routing(state: [write], at: bench.after(second)))
        }
        for (second, key) in [(0, "a"), (1, "b"), (10, "c")] { #expect(try await use(key, at: second) == .stored) }
        #expect(try await keys(bench, .throttle, "a", "b", "c") == ["b", "c"])
        #expect(try await bench.store.status().rules.map(\.droppedKeys) == [0])
        let loss = KeyLoss(rule: "r", dropped: 1, most: 2, isStopped: false)
        #expect(try await use("d", at: 10) == .storedWithKeyLoss([loss]))
    }

    @Test(arguments: Benches())
    func `a window counts as one key, and is dropped with its timer and its task's records`(_ bench: Bench) async throws {
        _ = try await bench.store.register([rule(2)], at: bench.now)
        let began: JSON = ["source": "s", "task": "t"]
        let timer = RuleTimer(.init(rule: "r", kind: .hold, key: "s/old"), due: bench.after(99))
        _ = try await bench.store.route(
            Routing(
                state: [set(.hold, "s/old", value: began), set(.hold, "s/old", "part"), set(.begun, "s/t", "s/old")],
                timers: [.set(timer)], at: bench.now))
        let window = ["1", "2", "3"].map { set(.count, "many", $0) }
        #expect(try await bench.store.route(Routing(state: window, at: bench.after(1))) == .stored)
        let result = try await bench.store.route(Routing(state: [set(.match, "new", "1")], at: bench.after(2)))
        #expect(result == .storedWithKeyLoss([KeyLoss(rule: "r", dropped: 1, most: 2, isStopped: false)]))
        #expect(try await keys(bench, .hold, "s/old") == [])
        #expect(try await keys(bench, .begun, "s/t") == [])
        #expect(try await keys(bench, .count, "many") == ["many"])
        #expect(try await bench.store.nextTimer() == nil)
    }

    @Test(arguments: Benches())
    func `keys of once are never dropped, and a rule with too many of them is paused`(_ bench: Bench) async throws {
        _ = try await bench.store.register([rule(2)], at: bench.now)
        for key in ["a", "b"] {
            #expect(try await bench.store.route(Routing(state: [set(.once, key)], at: bench.now)) == .stored)
        }
        let result = try await bench.store.route(Routing(state: [set(.once, "c")], at: bench.now))
        #expect(result == .storedWithKeyLoss([KeyLoss(rule: "r", dropped: 0, most: 2, isStopped: true)]))
        #expect(try await keys(bench, .once, "a", "b", "c") == ["a", "b", "c"])
        let pauses = try await bench.store.pauses()
        #expect(pauses.map(\.subject) == [.rule("r")] && pauses.map(\.isByPerson) == [false])
    }

    @Test(arguments: Benches())
    func `deleted keys make room, and a rule that is added again counts its keys anew`(_ bench: Bench) async throws {
        _ = try await bench.store.register([rule(2)], at: bench.now)
        _ = try await bench.store.route(Routing(state: [set(.throttle, "a"), set(.count, "b", "1")], at: bench.now))
        let delete = StateWrite(StateKey(rule: "r", kind: .throttle, key: "a"), .delete)
        #expect(try await bench.store.route(Routing(state: [delete, set(.throttle, "c")], at: bench.now)) == .stored)
        _ = try await bench.store.register([], at: bench.now)
        _ = try await bench.store.register([rule(2)], at: bench.now)
        #expect(try await bench.store.route(Routing(state: [set(.throttle, "d")], at: bench.after(1))) == .stored)
        let result = try await bench.store.route(Routing(state: [set(.throttle, "e")], at: bench.after(2)))
        #expect(result == .storedWithKeyLoss([KeyLoss(rule: "r", dropped: 1, most: 2, isStopped: false)]))
        #expect(try await keys(bench, .throttle, "c", "d", "e") == ["d", "e"])
    }

    @Test(arguments: Benches())
    func `a changed calendar makes the waits of a rule due at once, so that their times are recomputed`(
        _ bench: Bench
    ) async throws {
        _ = try await bench.store.register([rule(9, calendars: "one")], at: bench.now)
        let timers = [RuleTimer.Kind.hold, .absence, .group].map {
            RuleTimer(.init(rule: "r", kind: $0, key: "k"), due: bench.after(99), payload: ["source": "s"])
        }
        _ = try await bench.store.route(Routing(timers: timers.map { .set($0) }))
        _ = try await bench.store.register([rule(9, calendars: "one")], at: bench.after(1))
        #expect(try await bench.store.nextTimer() == bench.after(99))
        _ = try await bench.store.register([rule(9, calendars: "two")], at: bench.after(2))
        let due = try await bench.store.dueTimers(at: bench.after(50), limit: 9)
        #expect(due.map(\.id.kind) == [.hold, .absence] && due.allSatisfy { $0.due == bench.after(2) })
        #expect(due.allSatisfy { $0.payload == ["source": "s", "again": true] })
    }
}
