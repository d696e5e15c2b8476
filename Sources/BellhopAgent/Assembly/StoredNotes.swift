public import BellhopCore
import BellhopStore

/// The notes in a configuration's store, for commands that send no requests. Reads them if it can, and writes none.
public struct StoredNotes: Notebook {
    private let store: (any Store)?

    /// - Parameter path: of a store, which may be missing.
    public init(path: String) {
        do {
            store = try Stores.openForReading(path)
        } catch {
            store = nil  // no notes yet, or none that this program can read
        }
    }

    public func note(_ key: String) async throws -> JSON? { try await store?.note(key) }
    public func setNote(_ key: String, to value: JSON?) async throws {}

    public func close() async {
        do { try await store?.close() } catch { return }  // it was only read
    }
}

/// The notes of a store, with its typed error. (``Notebook`` has an untyped one.)
extension Store {
    func readNote(_ key: String) async throws(StoreError) -> JSON? {
        do { return try await note(key) } catch { throw error as? StoreError ?? StoreError(.other, "\(error)") }
    }

    func writeNote(_ key: String, to value: JSON?) async throws(StoreError) {
        do { try await setNote(key, to: value) } catch { throw error as? StoreError ?? StoreError(.other, "\(error)") }
    }
}
