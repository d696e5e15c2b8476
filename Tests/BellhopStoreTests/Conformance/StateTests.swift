import BellhopCore
import Testing

@Suite struct `The state of rules` {
    private let key = StateKey(rule: "rule", kind: .throttle, key: "INC1001")

    private func set(_ key: StateKey, _ value: JSON, expecting expected: StateWrite.Expectation = .any) -> StateWrite {
        StateWrite(key, .set(value, expires: nil), expecting: expected)
    }

    private func write(_ writes: StateWrite..., to bench: Bench) async throws -> RouteResult {
        try await bench.store.route(Routing(state: writes))
    }

    @Test(arguments: Benches())
    func `a value can be set, replaced and deleted`(_ bench: Bench) async throws {
        #expect(try await write(set(key, 1), set(key, ["at": 2]), to: bench) == .stored)
        #expect(try await bench.store.state(for: [key]) == [key: ["at": 2]])
        #expect(try await write(StateWrite(key, .delete), to: bench) == .stored)
        #expect(try await bench.store.state(for: [key]).isEmpty)
        #expect(try await write(StateWrite(key, .delete), to: bench) == .stored)
    }

    @Test(arguments: Benches())
    func `a key is read with its elements, without those of longer keys`(_ bench: Bench) async throws {
        var longer = key
        longer.key += "2"
        _ = try await write(set(key.at("a"), 1), set(key.at("b"), 2), set(longer, 3), set(longer.at("a"), 4), to: bench)
        let state = try await bench.store.state(for: [key])
        #expect(state == [key.at("a"): 1, key.at("b"): 2])
        #expect(state.window(key) == [key.at("a"): 1, key.at("b"): 2] && state[key] == nil)
        _ = try await write(StateWrite(key.at("a"), .delete), to: bench)
        #expect(try await bench.store.state(for: [key, longer]) == [key.at("b"): 2, longer: 3, longer.at("a"): 4])
    }

    @Test(arguments: StoreUnderTest.allCases, [1, 3, 50])
    func `the waits of several rules are found among few and among many keys`(_ kind: StoreUnderTest, _ count: Int) async throws {
        let bench = Bench(kind)
        func wait(_ rule: String, _ key: Int) -> StateKey { StateKey(rule: rule, kind: .hold, key: "\(key)") }
        let others = StateKey(rule: "a", kind: .count, key: "1", element: "e")
        _ = try await write(
            set(wait("a", 1), 1), set(wait("a", 2), 2), set(wait("a", 99), 3), set(wait("b", 2), 4), set(wait("other", 1), 5),
            set(others, 6), to: bench)
        let keys = (1...count).map { "\($0)" }
        var expected: RuleState = [wait("a", 1): 1]
        if count > 1 { expected.merge([wait("a", 2): 2, wait("b", 2): 4]) }
        #expect(try await bench.store.waits(for: ["a": keys, "b": keys, "none": keys]) == expected)
        #expect(try await bench.store.waits(for: [:]).isEmpty)
    }

    @Test(arguments: Benches())
    func `a write that expects the stored value is stored`(_ bench: Bench) async throws {
        #expect(try await write(set(key, ["a": 1.0, "b": .null], expecting: .absent), to: bench) == .stored)
        #expect(try await write(set(key, 2, expecting: .value(["a": 1.0, "b": .null])), to: bench) == .stored)
        #expect(try await write(StateWrite(key, .delete, expecting: .value(2)), to: bench) == .stored)
        #expect(try await write(StateWrite(key, .delete, expecting: .absent), to: bench) == .stored)
        #expect(try await bench.store.state(for: [key]).isEmpty)
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a routing that expects another state is refused as a whole, and a corrected one stored`(_ kind: StoreUnderTest)
        async throws
    {
        for expected in [StateWrite.Expectation.absent, .value(2)] {
            for change in [StateWrite.Change.set(9, expires: nil), .delete] {
                let bench = Bench(kind)
                try await bench.store.append([Sample.event(1)])
                _ = try await write(set(key, 1), to: bench)
                let before = try await bench.tested.dump()
                var routing = Routing(
                    routed: [1], deliveries: [Sample.delivery(1)],
                    state: [set(key.at("new"), true), StateWrite(key, change, expecting: expected)], events: [Sample.event(2)])
                #expect(try await bench.store.route(routing) == .conflict(.state(key)))
                #expect(try await bench.tested.dump() == before)
                routing.state[1].expected = .value(1)
                #expect(try await bench.store.route(routing) == .stored)
                #expect(try await bench.states() == [.available])
            }
        }
    }

    @Test(arguments: Benches())
    func `a write that expects a deleted value is a conflict`(_ bench: Bench) async throws {
        #expect(try await write(set(key, 2, expecting: .value(1)), to: bench) == .conflict(.state(key)))
        #expect(try await write(StateWrite(key, .delete, expecting: .value(1)), to: bench) == .conflict(.state(key)))
        #expect(try await bench.store.state(for: [key]).isEmpty)
    }

    @Test(arguments: Benches())
    func `a conflict does not undo concurrent writes`(_ bench: Bench) async throws {
        let results = try await withThrowingTaskGroup { group in
            for number in 1...20 {
                group.addTask {
                    try await bench.store.route(
                        Routing(
                            deliveries: [Sample.delivery(number)], state: [set(key, .int(Int64(number)), expecting: .absent)]))
                }
            }
            return try await group.reduce(into: [RouteResult]()) { $0.append($1) }
        }
        #expect(results.filter { $0 == .stored }.count == 1)
        #expect(try await bench.states() == [.available])
    }
}
