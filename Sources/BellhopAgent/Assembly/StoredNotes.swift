public import BellhopCore
import BellhopStore

/// What the store of a configuration noted, for commands that ask nobody outside: read where it can be, never written.
public struct StoredNotes: Notebook {
    private let store: SQLiteStore?

    /// - Parameter path: of a store, which may not be there.
    public init(path: String) {
        do {
            store = try SQLiteStore.openForReading(path: path)
        } catch {
            store = nil  // nothing was noted yet, or nothing that this program can read
        }
    }

    public func note(_ key: String) async throws -> JSON? { try await store?.note(key) }
    public func setNote(_ key: String, to value: JSON?) async throws {}

    public func close() async {
        do { try await store?.close() } catch { return }  // it was only looked at
    }
}
