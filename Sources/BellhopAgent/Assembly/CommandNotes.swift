import BellhopConnectors
public import BellhopCore
import BellhopStore
import Glibc

/// The notes of a store, for commands that log in while an agent runs or before its first run. They read all notes, but write
/// only notes about refused logins.
///
/// Only a running agent may write the store, so the command sends it the refusals. If no agent runs, the command writes the store, and
/// creates it if needed. So all programs together try a wrong password only once.
public struct CommandNotes: Notebook {
    private let store: String
    private let socket: ControlSocket.Place

    public init(store: String, environment: [String: String]) {
        self.store = store
        socket = ControlSocket.place(store: store, environment: environment)
    }

    public func note(_ key: String) async throws -> JSON? {
        let notes = StoredNotes(path: store)
        do {
            let note = try await notes.note(key)
            await notes.close()
            return note
        } catch {
            await notes.close()
            throw error
        }
    }

    public func setNote(_ key: String, to value: JSON?) async throws {
        guard RefusedLogins.isKey(key) else { return }
        if try ControlClient(socket).ask(.keepRefusal(key, value)) != nil { return }
        if value == nil, access(store, F_OK) != 0 { return }
        guard let open = try await openStore() else { return }
        do {
            try await open.setNote(key, to: value)
        } catch {
            try await open.close()
            throw error
        }
        try await open.close()
    }

    /// Opens the store for writing. Nil if it cannot be opened: then no agent can run that would retry the password. Waits while
    /// another connection of this command, or another command, writes the store.
    private func openStore() async throws -> (any Store)? {
        do throws(StoreError) {
            return try await Stores.open(store, patience: .seconds(5))
        } catch {
            if error.kind == .cannotOpen { return nil }
            throw error
        }
    }
}

/// The notes in a store, for commands that send no requests. Reads notes if the store can be read, and writes none.
public struct StoredNotes: Notebook {
    private let store: (any Store)?

    /// - Parameter path: the path of a store. The store may be missing.
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
