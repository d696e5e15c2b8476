import BellhopConnectors
public import BellhopCore
import BellhopStore
import Glibc

/// The notes of a store for commands that log in beside an agent, or before its first run: they read all notes, and write only
/// which logins were refused.
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

    /// Opens the store for writing. Nil if it cannot be opened: then no agent can run either, and none retries the password. Waits while
    /// another connection of this command, or another command, writes the store.
    private func openStore() async throws -> (any Store)? {
        for _ in 0..<250 {
            do throws(StoreError) {
                return try Stores.open(store)
            } catch {
                if error.kind == .cannotOpen { return nil }
                guard error.kind == .busy else { throw error }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        return try Stores.open(store)
    }
}
