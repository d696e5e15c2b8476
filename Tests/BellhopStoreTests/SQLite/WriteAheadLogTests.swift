import BellhopCore
import BellhopTesting
import Foundation
import Synchronization
import Testing

@testable import BellhopStore

@Suite struct WriteAheadLogTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func size(_ name: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: folder.file(name))[.size] as? Int)
    }

    @Test func `a long write-ahead log is checkpointed before the next write, a short one is not`() async throws {
        let store = try SQLiteStore.open(path: folder.file("store.db"))
        _ = try await store.open(Sample.scope, source: "tasks", at: Sample.now)
        let empty = try size("store.db")
        _ = try await store.commit(Sample.poll([1]))
        try await store.setNote("behind", to: 1)
        #expect(try size("store.db") == empty)
        let long = String(repeating: "long ", count: 2000)
        var poll = Sample.poll([], turn: 1)
        poll.present = (2..<2500).map { Sample.present($0, title: "\(long)\($0)") }
        _ = try await store.commit(poll)
        // The next write is made after the checkpoint.
        try await store.setNote("behind", to: 2)
        #expect(try size("store.db") > 4000 * 4096)
        #expect(try await store.note("behind") == 2)
        #expect(try await store.tasks(in: [Sample.scope.id])[Sample.scope.id]?.count == 2499)
        try await store.close()
    }

    @Test func `on a disk with little room the log stays short, and a full store still deletes and then stores again at once`()
        async throws
    {
        let room = Mutex<UInt64>(4 << 20)
        let store = try SQLiteStore.open(path: folder.file("store.db"), room: { room.withLock { $0 } })
        _ = try await store.open(Sample.scope, source: "tasks", at: Sample.now)
        let long = String(repeating: "long ", count: 2000)
        func poll(_ numbers: Range<Int>, turn: Int64) -> PollCommit {
            var poll = Sample.poll([], turn: turn)
            poll.present = numbers.map { Sample.present($0, title: "\(long)\($0)") }
            return poll
        }
        func failure(of poll: PollCommit) async -> StoreError.Kind? {
            do throws(StoreError) { _ = try await store.commit(poll) } catch { return error.kind }
            return nil
        }
        var turn: Int64 = 0
        for start in stride(from: 0, to: 100, by: 10) {
            _ = try await store.commit(poll(start..<start + 10, turn: turn))
            turn += 1
        }
        #expect(try size("store.db") > 500_000)
        #expect(try size("store.db-wal") < 1 << 20)
        // It would fit into the room, but not both in the log and in the database.
        #expect(await failure(of: poll(100..<350, turn: turn)) == .full)
        room.withLock { $0 = 100_000 }
        let large = poll(100..<600, turn: turn)
        #expect(await failure(of: large) == .full)
        try await store.write { try $0.database.execute("DELETE FROM task WHERE id IN (SELECT id FROM task LIMIT 50)") }
        // The next commit finds that there is room again.
        room.withLock { $0 = 1 << 30 }
        _ = try await store.commit(large)
        #expect(try await store.write { try $0.int("SELECT count(*) FROM task") } == 550)
        try await store.close()
    }
}
