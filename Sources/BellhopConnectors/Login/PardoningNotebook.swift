import BellhopCore
import Synchronization

/// A notebook that ignores earlier refusals, because a person has just tried the login. Later refusals are remembered.
///
/// A class with a mutex, because the sessions of a connection share it.
final class PardoningNotebook: Notebook {
    private let base: any Notebook
    /// The notes about refusals read or written since.
    private let seen = Mutex<Set<String>>([])

    init(_ base: any Notebook) { self.base = base }

    func note(_ key: String) async throws -> JSON? {
        if isFirstLook(key) { try await base.setNote(key, to: nil) }
        return try await base.note(key)
    }

    func setNote(_ key: String, to value: JSON?) async throws {
        _ = isFirstLook(key)
        try await base.setNote(key, to: value)
    }

    private func isFirstLook(_ key: String) -> Bool {
        key.hasPrefix(RefusedLogins.prefix) && seen.withLock { $0.insert(key).inserted }
    }
}
