import BellhopCore
import BellhopTesting
import Foundation
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
}
