import BellhopCore
import Crypto
import Synchronization

/// The notes that record refused logins.
public enum RefusedLogins {
    static let prefix = "refused-login/"

    /// Whether a note with this name records a refused login.
    public static func isKey(_ key: String) -> Bool { key.hasPrefix(prefix) }
}

/// Remembers refused credentials, even across restarts, so that they are not retried until they change or are stored again.
///
/// It stores a salted hash, stretched and cut to 64 bits. All sessions of a connection share one memory and log in one after the
/// other through its gate, so a wrong password is tried once, not once per session. A class with a lock, because it is shared, and
/// because it must remember a refusal even if the notebook cannot be written.
final class RefusalMemory: Sendable {
    /// A record that credentials were refused.
    struct Refusal: Sendable, Hashable {
        var salt: String
        var hash: String
        var message: String
    }

    /// Serializes the connection's logins.
    let gate = FIFOGate()
    private let key: String
    private let notebook: any Notebook
    /// A refusal that could not be written to the notebook.
    private let unwritten = Mutex<Refusal?>(nil)
    private let salt: @Sendable () -> UInt64

    init(connection: String, instance: String, notebook: any Notebook, salt: @escaping @Sendable () -> UInt64) {
        key = RefusedLogins.prefix + "\(instance)/\(connection)"
        self.notebook = notebook
        self.salt = salt
    }

    /// The refusal of exactly these credentials. Reads the notebook each time, because another process may have logged in with them
    /// and removed the refusal.
    func refusal(of credentials: Credentials) async throws -> Refusal? {
        // An unwritten refusal is newer than the notebook's.
        var known = unwritten.withLock { $0 }
        if known == nil { known = try await notebook.note(key).flatMap(Refusal.init(json:)) }
        return known.flatMap { $0.hash == Self.hash(credentials, salt: $0.salt) ? $0 : nil }
    }

    /// Throws if exactly these credentials were refused before.
    func check(_ credentials: Credentials) async throws(Failure) {
        var refusal: Refusal?
        try await Self.noting { refusal = try await self.refusal(of: credentials) }
        if let refusal { throw Failure(.unauthenticated, .pauseConnection, refusal.message) }
    }

    /// Runs work on the notebook; converts its error to a failure of the login.
    static func noting(_ work: () async throws -> Void) async throws(Failure) {
        do {
            try await work()
        } catch {
            let reason = (error as? StoreError)?.message ?? "\(error)"
            throw Failure(.fileSystem, .retry(after: nil), "The notes about logins cannot be read or kept: \(reason).")
        }
    }

    func remember(_ message: String, of credentials: Credentials) async throws {
        let salt = String(salt(), radix: 16)
        let refusal = Refusal(salt: salt, hash: Self.hash(credentials, salt: salt), message: message)
        unwritten.withLock { $0 = refusal }
        try await notebook.setNote(key, to: refusal.json)
        unwritten.withLock { $0 = nil }
    }

    func forget() async throws {
        unwritten.withLock { $0 = nil }
        if try await notebook.note(key) != nil { try await notebook.setNote(key, to: nil) }
    }

    private static func hash(_ credentials: Credentials, salt: String) -> String {
        let secret = SymmetricKey(data: Array(salt.utf8))
        var digest = Array(
            HMAC<SHA256>.authenticationCode(
                for: Array("\(credentials.username)\u{0}\(credentials.password)\u{0}\(credentials.mark)".utf8), using: secret)
        )
        for _ in 0..<5_000 { digest = Array(HMAC<SHA256>.authenticationCode(for: digest, using: secret)) }
        return Hexadecimal.text(digest.prefix(8))
    }
}

extension RefusalMemory.Refusal {
    init?(json: JSON) {
        guard let salt = json["salt"]?.asString, let hash = json["hash"]?.asString else { return nil }
        self.init(salt: salt, hash: hash, message: json["message"].textOrEmpty)
    }

    var json: JSON { ["salt": .string(salt), "hash": .string(hash), "message": .string(message)] }
}

/// A notebook that removes earlier refusals when they are first read, because a person asked for a new try. Later ones are kept.
///
/// A class with a mutex, because the sessions of a connection share it.
final class RefusalClearingNotebook: Notebook {
    private let base: any Notebook
    /// The keys of refusals that were read or written.
    private let seen = Mutex<Set<String>>([])

    init(_ base: any Notebook) { self.base = base }

    func note(_ key: String) async throws -> JSON? {
        if isFirstUse(key) { try await base.setNote(key, to: nil) }
        return try await base.note(key)
    }

    func setNote(_ key: String, to value: JSON?) async throws {
        _ = isFirstUse(key)
        try await base.setNote(key, to: value)
    }

    private func isFirstUse(_ key: String) -> Bool {
        key.hasPrefix(RefusedLogins.prefix) && seen.withLock { $0.insert(key).inserted }
    }
}

/// Gates by name, each made when it is first used. Connections to the same place share them.
///
/// A class with a lock, because independent connections use it.
final class SharedGates: Sendable {
    private let gates = Mutex<[String: FIFOGate]>([:])

    func gate(_ name: String) -> FIFOGate {
        gates.withLock { gates in
            let gate = gates[name] ?? FIFOGate()
            gates[name] = gate
            return gate
        }
    }
}
