import BellhopCore
import BellhopTesting
import Foundation
import Testing

@testable import BellhopStore

/// A store whose file disappears while it is open.
@Suite struct LostStoreTests {
    private func lose(_ loss: (String) throws -> Void) async throws -> StoreError? {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.file("data"), withIntermediateDirectories: false)
        let path = folder.file("data/bellhop.db")
        let store = try SQLiteStore.open(path: path)
        try await store.append([Sample.event(1)])
        try loss(path)
        do throws(StoreError) {
            try await store.append([Sample.event(2)])
            return nil
        } catch {
            try? await store.close()
            return error
        }
    }

    @Test func `a store that was deleted refuses writes with that reason`() async throws {
        let error = try await lose { unlink($0) }
        #expect(error?.kind == .lost)
        #expect(error?.message.contains("was deleted or replaced while it was in use") == true)
    }

    @Test func `a store whose folder was deleted refuses writes`() async throws {
        #expect(
            try await lose { try FileManager.default.removeItem(atPath: ($0 as NSString).deletingLastPathComponent) }?.kind
                == .lost)
    }

    @Test func `a store that was replaced by another file refuses writes`() async throws {
        let error = try await lose { path in
            try Data("another".utf8).write(to: URL(filePath: path + ".new"))
            rename(path + ".new", path)
        }
        #expect(error?.kind == .lost)
    }

    @Test func `a store that was moved away and back continues`() async throws {
        let error = try await lose { path in
            rename(path, path + ".away")
            rename(path + ".away", path)
        }
        #expect(error == nil)
    }

    @Test func `a write that is refused while the store is away is not in it when it is back`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("bellhop.db")
        let store = try SQLiteStore.open(path: path)
        try await store.append([Sample.event(1)])
        rename(path, path + ".away")
        await #expect(throws: StoreError.self) { try await store.append([Sample.event(2)]) }
        rename(path + ".away", path)
        #expect(try await store.events(EventQuery()).map(\.event.id) == [Sample.event(1).id])
        try await store.close()
    }
}
