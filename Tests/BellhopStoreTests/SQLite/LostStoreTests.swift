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

    private static let losses: [(what: String, @Sendable (String) throws -> Void)] = [
        ("its file is deleted", { unlink($0) }),
        ("its folder is deleted", { try FileManager.default.removeItem(atPath: ($0 as NSString).deletingLastPathComponent) }),
        (
            "another file replaces it",
            { path in
                try Data("another".utf8).write(to: URL(filePath: path + ".new"))
                rename(path + ".new", path)
            }
        ),
    ]

    @Test func `a store that was deleted or replaced refuses writes with that reason`() async throws {
        for (what, loss) in Self.losses {
            let error = try await lose(loss)
            #expect(error?.kind == .lost, "\(what)")
            #expect(error?.message.contains("was deleted or replaced while it was in use") == true, "\(what)")
        }
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
