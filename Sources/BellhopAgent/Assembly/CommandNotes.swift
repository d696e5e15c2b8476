import BellhopConnectors
public import BellhopCore
import BellhopStore
import Glibc

/// The notes of a store for commands that log in beside an agent, or before there is one: they see what was noted, and keep which logins
/// were refused. Nothing else is written.
///
/// Refusals are kept by the running agent, which alone may write the store, or else in the store, which is made where there is none yet:
/// a wrong password is tried once, whoever tries it.
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

    /// The store to write; nil where there can be none, so that no agent runs either that would try the password again. Waits for
    /// another connection of this command, or another command, that writes it at the moment.
    private func openStore() async throws -> SQLiteStore? {
        for _ in 0..<250 {
            do throws(StoreError) {
                return try SQLiteStore.open(path: store)
            } catch {
                if error.kind == .cannotOpen { return nil }
                guard error.kind == .busy else { throw error }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        return try SQLiteStore.open(path: store)
    }
}
