import BellhopCore
import BellhopTesting
import Testing

struct KnownTasksTests {
    private static func listing(_ records: [(String, Int64)]) throws -> Listing {
        try Listing(records: records.map { (TaskKey($0.0), .int($0.1)) })
    }

    private static func known(_ records: [(String, Int64)]) throws -> KnownTasks {
        KnownTasks(try listing(records).entries.map { KnownTask(key: $0.key, listed: $0.fingerprint) })
    }

    @Test func `a comparison finds new, changed and missing tasks`() throws {
        let known = try Self.known([("a", 1), ("b", 1), ("c", 1), ("d", 1)])
        let comparison = known.compare(with: try Self.listing([("x", 1), ("b", 2), ("a", 1), ("d", 1)]))
        #expect(comparison.new == [0])
        #expect(comparison.changed == [1])
        #expect(comparison.gone == ["c"])
        #expect(comparison.unchanged == 2)
        #expect(known.compare(with: try Self.listing([("a", 1), ("b", 1), ("c", 1), ("d", 1)])).isEmpty)
        #expect(known.compare(with: try Self.listing([])).gone == ["a", "b", "c", "d"])
        #expect(KnownTasks().compare(with: try Self.listing([("a", 1)])).new == [0])
    }

    @Test func `for random lists, a comparison finds the same differences as dictionaries`() throws {
        var random = SeededRandom(seed: 6)
        for _ in 0..<300 {
            let before = Self.records(&random)
            var after = before.filter { _ in Int.random(in: 0..<5, using: &random) > 0 }
            for place in after.indices where Int.random(in: 0..<5, using: &random) == 0 { after[place].1 += 1 }
            after += Self.records(&random).filter { record in !before.contains { $0.0 == record.0 } }
            if Bool.random(using: &random) { after.shuffle(using: &random) }
            let listing = try Self.listing(after)
            let comparison = try Self.known(before).compare(with: listing)
            let old = Dictionary(uniqueKeysWithValues: before)
            let new = Dictionary(uniqueKeysWithValues: after)
            #expect(comparison.new == after.indices.filter { old[after[$0].0] == nil })
            #expect(
                comparison.changed
                    == after.indices.filter { old[after[$0].0].map { [$0] } != nil && old[after[$0].0] != after[$0].1 })
            #expect(comparison.gone == before.map(\.0).filter { new[$0] == nil }.map { TaskKey($0) })
            #expect(comparison.unchanged == after.count { old[$0.0] == $0.1 })
        }
    }

    @Test func `adding, replacing and removing tasks agree with a dictionary`() {
        var random = SeededRandom(seed: 7)
        var known = KnownTasks()
        var model: [TaskKey: Fingerprint] = [:]
        for round in 0..<20_000 {
            let key = TaskKey("\(Int.random(in: 0..<700, using: &random))")
            if Int.random(in: 0..<3, using: &random) > 0 {
                let fingerprint = Fingerprint.of("\(round)")
                known.set(KnownTask(key: key, listed: fingerprint))
                model[key] = fingerprint
            } else {
                #expect(known.remove(key) == (model.removeValue(forKey: key) != nil))
            }
            if round % 1_000 == 0 {
                #expect(Dictionary(uniqueKeysWithValues: known.map { ($0.key, $0.listed) }) == model)
                for key in model.keys { #expect(known[key]?.listed == model[key]) }
            }
        }
        known.remove(Array(model.keys.prefix(300)))
        #expect(known.count == model.count - min(300, model.count))
        known.remove(Array(model.keys))
        #expect(known.isEmpty)
    }

    @Test func `removing many tasks keeps the order of the others`() {
        var known = KnownTasks((0..<100).map { KnownTask(key: TaskKey("\($0)"), listed: .zero) })
        known.remove((0..<50).map { TaskKey("\($0 * 2)") })
        #expect(known.map(\.key.text) == (0..<50).map { "\($0 * 2 + 1)" })
    }

    @Test func `tasks whose details were read longest ago or never are stale first`() {
        func task(_ key: TaskKey, _ seconds: Int64?) -> KnownTask {
            KnownTask(key: key, listed: .zero, refreshed: seconds.map { Timestamp(seconds: $0) })
        }
        let known = KnownTasks([task("a", 300), task("b", nil), task("c", 100), task("d", 200)])
        #expect(known.stale(before: Timestamp(seconds: 300)) == ["b", "c", "d"])
        #expect(known.stale(before: Timestamp(seconds: 300), limit: 2) == ["b", "c"])
        #expect(known["a"]?.refreshed == Timestamp(seconds: 300))
        #expect(known["b"]?.refreshed == nil)
        #expect(task("x", -5).refreshed == Timestamp(seconds: 1))
        #expect(task("x", .max).refreshed == Timestamp(seconds: Int64(UInt32.max)))
    }

    @Test func `a known task takes 56 bytes, and an entry of a listing 48`() {
        #expect(MemoryLayout<KnownTask>.stride == 56)
        #expect(MemoryLayout<Listing.Entry>.stride == 48)
    }

    private static func records(_ random: inout SeededRandom) -> [(String, Int64)] {
        var keys: Set<String> = []
        for _ in 0..<Int.random(in: 0..<120, using: &random) { keys.insert("\(Int.random(in: 0..<400, using: &random))") }
        return keys.sorted().map { ($0, Int64.random(in: 0..<3, using: &random)) }
    }
}
