import BellhopCore
import BellhopTesting
import Synchronization
import Testing

@testable import BellhopStore

@Suite struct `The task cache` {
    /// Polls in which tasks come, change, leave and return; some of them by another process.
    @Test(arguments: 0..<20) func `the cached tasks equal the stored ones after random polls`(_ seed: UInt64) async throws {
        let tested = try SQLiteUnderTest(.onDisk)
        let store = tested.store
        var random = SeededRandom(seed: seed)
        var turn = try await store.open(Sample.scope, source: "tasks", at: Sample.now).turn
        var present: Set<Int> = []
        for round in 0..<120 {
            let listed = Set((0..<Int.random(in: 0...4, using: &random)).map { _ in Int.random(in: 0..<12, using: &random) })
            let gone = present.subtracting(listed).filter { _ in Int.random(in: 0..<5, using: &random) == 0 }
            var poll = Sample.poll([], turn: turn)
            poll.present = listed.sorted().map { Sample.present($0, title: "round \(round)") }
            poll.removed = gone.sorted().map {
                PollCommit.RemovedTask(key: Sample.key($0), snapshot: Sample.snapshot($0), generation: 1, reason: .gone)
            }
            if Int.random(in: 0..<10, using: &random) == 0 {
                // Another process stores it: this one only sees that the turn has moved.
                _ = try await tested.sqlite.write { [poll] in try $0.commit(poll) }
            } else {
                _ = try await store.commit(poll)
            }
            turn += 1
            present = present.union(listed).subtracting(gone)
            if Int.random(in: 0..<10, using: &random) == 0 { await store.giveBackMemory() }
            if Int.random(in: 0..<3, using: &random) > 0 { continue }
            let seen = try await store.tasks(in: [Sample.scope.id])
            let stored = try await tested.sqlite.read {
                try $0.tasks(in: [Sample.scope.id]) { _, _ in
                    nil
                } keep: { _, _, _ in
                }
            }
            #expect(seen == stored)
            #expect(Set(seen[Sample.scope.id]?.map(\.key) ?? []) == Set(present.map(Sample.key)))
        }
    }

    @Test func `an unchanged task is not read again`() async throws {
        let tested = try SQLiteUnderTest()
        let store = tested.store
        _ = try await store.open(Sample.scope, source: "tasks", at: Sample.now)
        _ = try await store.commit(Sample.poll([1, 2]))
        _ = try await store.tasks(in: [Sample.scope.id])
        // What reading the row would show.
        _ = try await tested.sqlite.write { try $0.run("UPDATE task SET snapshot = '{}'") }
        var poll = Sample.poll([], turn: 1)
        poll.present = [Sample.present(2, title: "changed")]
        _ = try await store.commit(poll)
        let titles = try await store.tasks(in: [Sample.scope.id])[Sample.scope.id]?.map(\.title)
        #expect(titles == ["printer on fire", "changed"])
    }

    @Test func `tasks that no rule reads any more leave the cache`() async throws {
        let tested = try SQLiteUnderTest()
        let store = tested.store
        _ = try await store.open(Sample.scope, source: "tasks", at: Sample.now)
        for turn in 0..<30 {
            _ = try await store.commit(Sample.poll([1], turn: Int64(turn)))
            if turn == 5 { _ = try await store.tasks(in: [Sample.scope.id]) }
            let isKept = tested.sqlite.cache.withLock { $0.keeps(Sample.scope.id) }
            #expect(isKept == (5...25).contains(turn), "poll \(turn)")
        }
    }

    @Test func `without polls, tasks that no rule read since the last release of memory leave the cache`() async throws {
        let tested = try SQLiteUnderTest()
        let store = tested.store
        _ = try await store.open(Sample.scope, source: "tasks", at: Sample.now)
        _ = try await store.commit(Sample.poll([1]))
        func isKept() -> Bool { tested.sqlite.cache.withLock { $0.keeps(Sample.scope.id) } }
        for _ in 0..<3 {
            _ = try await store.tasks(in: [Sample.scope.id])
            await store.giveBackMemory()
            #expect(isKept())
        }
        await store.giveBackMemory()
        #expect(!isKept())
    }
}
