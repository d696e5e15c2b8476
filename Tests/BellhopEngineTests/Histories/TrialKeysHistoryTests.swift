import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopRules
@testable import BellhopStore

/// Random changes of rule state, in the store and in a trial.
@Suite struct `The keys of rules in a trial` {
    private static let rules = ["r", "s"]
    private static let kinds: [StateKey.Kind] = [
        .once, .throttle, .hold, .count, .group, .gathered, .match, .absence, .begun, .escalation, .budget, .digest,
    ]

    @Test(arguments: 0..<UInt64(RandomRuns.count(20)))
    func `a trial drops the same keys and stops the same rules as the store`(_ seed: UInt64) async throws {
        var random = SeededRandom(seed: RandomRuns.seed(seed))
        let most = Int.random(in: 2...6, using: &random)
        let (store, start) = (try Stores.inMemory(), Timestamp(seconds: 1_767_603_600))
        let registrations = Self.rules.map { RuleRegistration(name: $0, revision: "1", waits: "w", maxKeys: most) }
        _ = try await store.register(registrations, at: start)
        var (trial, keys, stopped): (TrialState, Set<StateKey>, Set<String>) = (TrialState(most: most, from: start), [], [])
        var (dropped, now) = (0, start)
        let last = 200
        for number in 0...last {
            if !random.oneIn(3) { now += .seconds(Int.random(in: 1...900, using: &random)) }
            // The agent prunes each hour.
            let hour = start + .seconds((now - start).components.seconds / 3600 * 3600)
            _ = try await store.prune(Retention(), at: hour)
            let writes = number < last ? Self.writes(number, now, &random) : Self.tooMany(most)
            keys.formUnion(writes.map(\.key))
            let losses = trial.apply(writes, at: now).map(\.loss)
            let result = try await store.route(Routing(state: writes, at: now))
            #expect(
                result == (losses.isEmpty ? .stored : .storedWithKeyLoss(losses)),
                "seed \(RandomRuns.seed(seed)), routing \(number)")
            trial.prune(at: now)
            let stored = try await store.state(for: Array(Set(keys.map { $0.at("") })))
            let (kept, real) = (Set(trial.values.all.map(\.key)), Set(stored.all.map(\.key)))
            try #require(kept == real, "seed \(RandomRuns.seed(seed)), routing \(number)")
            stopped.formUnion(losses.filter(\.isStopped).map(\.rule))
            dropped += losses.map(\.dropped).reduce(0, +)
        }
        #expect(trial.stopped == stopped)
        #expect(dropped > 0 && !stopped.isEmpty)
    }

    private static func writes(_ number: Int, _ now: Timestamp, _ random: inout SeededRandom) -> [StateWrite] {
        var writes: [StateWrite] = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let write = write(number, now, &random)
            if !writes.contains(where: { $0.key == write.key }) { writes.append(write) }
        }
        return writes
    }

    /// More keys than a rule may have, of a kind that stops it and of one that it drops: not each random history has both.
    private static func tooMany(_ most: Int) -> [StateWrite] {
        (0...most).flatMap { number in
            let key = "k\(number)"
            return [
                StateWrite(StateKey(rule: "r", kind: .once, key: key), .set([:], expires: nil)),
                StateWrite(StateKey(rule: "s", kind: .throttle, key: key), .set([:], expires: nil)),
            ]
        }
    }

    private static func write(_ number: Int, _ now: Timestamp, _ random: inout SeededRandom) -> StateWrite {
        let (kind, rule) = (random.pick(kinds), random.pick(rules))
        let name = "k\(Int.random(in: 0..<9, using: &random))"
        let element = [.count, .gathered, .match].contains(kind) ? "\(number % 3)" : ""
        var key = StateKey(rule: random.oneIn(4) ? "shadow/\(rule)" : rule, kind: kind, key: name, element: element)
        if kind == .escalation { key = StateKey(rule: "", kind: kind, key: name, element: rule) }
        if kind == .begun { key = StateKey(rule: key.rule, kind: kind, key: "s/t", element: name) }
        if random.oneIn(4) { return StateWrite(key, .delete) }
        let expires = kind == .once || random.oneIn(2) ? nil : now + .seconds(Int.random(in: 1...7200, using: &random))
        return StateWrite(key, .set(["source": "s", "task": "t"], expires: expires))
    }
}

extension SeededRandom {
    fileprivate mutating func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &self)] }
}
