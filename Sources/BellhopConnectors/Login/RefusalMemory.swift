import BellhopCore
import Crypto
import Synchronization

/// The notes in which refused logins are kept.
public enum RefusedLogins {
    static let prefix = "refused-login/"

    /// Whether a note of this name says that a login was refused.
    public static func isKey(_ key: String) -> Bool { key.hasPrefix(prefix) }
}

/// Remembers that credentials were refused, so that nobody tries them again until they are others, or stored again. Outlives a restart.
///
/// The sessions of a connection share one, and log in one after the other through its gate: a wrong password is tried once, not once
/// a session. What it keeps of them is a salted hash, stretched and cut to 64 bits.
/// A class over a lock, because of that sharing, and because it must remember even where the notebook cannot be written.
final class RefusalMemory: Sendable {
    /// That credentials were refused.
    struct Refusal: Sendable, Hashable {
        var salt: String
        var hash: String
        /// What the person is told.
        var message: String

        init(salt: String, hash: String, message: String) {
            self.salt = salt
            self.hash = hash
            self.message = message
        }

        init?(json: JSON) {
            guard let salt = json["salt"]?.asString, let hash = json["hash"]?.asString else { return nil }
            self.init(salt: salt, hash: hash, message: json["message"]?.asString ?? "")
        }

        var json: JSON { ["salt": .string(salt), "hash": .string(hash), "message": .string(message)] }
    }

    /// Only one login of the connection at a time.
    let gate = FIFOGate()
    private let key: String
    private let notebook: any Notebook
    /// What the notebook did not take.
    private let unwritten = Mutex<Refusal?>(nil)
    private let salt: @Sendable () -> UInt64

    init(connection: String, instance: String, notebook: any Notebook, salt: @escaping @Sendable () -> UInt64) {
        key = RefusedLogins.prefix + "\(instance)/\(connection)"
        self.notebook = notebook
        self.salt = salt
    }

    /// The refusal of exactly these credentials, if there was one. The notebook is asked each time: somebody else may have logged in
    /// with them since, and made it forget.
    func refusal(of credentials: Credentials) async throws -> Refusal? {
        // What the notebook did not take is newer than what it has.
        var known = unwritten.withLock { $0 }
        if known == nil { known = try await notebook.note(key).flatMap(Refusal.init(json:)) }
        guard let known, known.hash == Self.hash(credentials, salt: known.salt) else {
            return nil
        }
        return known
    }

    /// Throws where exactly these credentials were refused before.
    func check(_ credentials: Credentials) async throws(Failure) {
        var refusal: Refusal?
        try await Self.noting { refusal = try await self.refusal(of: credentials) }
        if let refusal { throw Failure(.unauthenticated, .pauseConnection, refusal.message) }
    }

    /// Reads or keeps what is known of logins; a notebook that fails is a failure of the login that needs it.
    static func noting(_ work: () async throws -> Void) async throws(Failure) {
        do {
            try await work()
        } catch {
            throw Failure(.fileSystem, .retry(after: nil), "What is known of logins cannot be read or kept: \(error).")
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
        return digest.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
