import BellhopCore
import Foundation
import Testing

@testable import BellhopStore

/// A store whose file is taken away while it is open.
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

    @Test func `a store that was deleted takes nothing more, and says so`() async throws {
        let error = try await lose { unlink($0) }
        #expect(error?.kind == .lost)
        #expect(error?.message.contains("was deleted or replaced while it was in use") == true)
    }

    @Test func `so does one whose folder is gone`() async throws {
        #expect(
            try await lose { try FileManager.default.removeItem(atPath: ($0 as NSString).deletingLastPathComponent) }?.kind
                == .lost)
    }

    @Test func `so does one in whose place is another`() async throws {
        let error = try await lose { path in
            try Data("another".utf8).write(to: URL(filePath: path + ".new"))
            rename(path + ".new", path)
        }
        #expect(error?.kind == .lost)
    }

    @Test func `one that was moved to a place and back goes on`() async throws {
        let error = try await lose { path in
            rename(path, path + ".away")
            rename(path + ".away", path)
        }
        #expect(error == nil)
    }
}
