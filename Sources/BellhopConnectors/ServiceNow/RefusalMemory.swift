import BellhopCore
import Crypto
import Synchronization

/// Remembers that a password was refused, so that nobody tries it again until it is another one. Outlives a restart.
///
/// The sessions of a connection share one, and log in one after the other through its gate: a wrong password is tried once, not once
/// a session. What it keeps of the password is a salted hash, stretched and cut to 64 bits.
/// A class over a lock, because of that sharing, and because it must remember even where the notebook cannot be written.
final class RefusalMemory: Sendable {
    /// That credentials were refused.
    struct Refusal: Sendable, Hashable {
        var salt: String
        var hash: String
        /// What the person is told.
        var message: String
    }

    /// Only one login of the connection at a time.
    let gate = FIFOGate()
    private let key: String
    private let notebook: any Notebook
    private let latest = Mutex<Refusal?>(nil)
    private let salt: @Sendable () -> UInt64

    init(connection: String, instance: String, notebook: any Notebook, salt: @escaping @Sendable () -> UInt64) {
        key = "refused-login/\(instance)/\(connection)"
        self.notebook = notebook
        self.salt = salt
    }

    /// The refusal of exactly these credentials, if there was one.
    func refusal(of credentials: Credentials) async throws -> Refusal? {
        var known = latest.withLock { $0 }
        if known == nil, let note = try await notebook.note(key), let salt = note["salt"]?.asString,
            let hash = note["hash"]?.asString
        {
            known = Refusal(salt: salt, hash: hash, message: note["message"]?.asString ?? "")
        }
        guard let known, known.hash == Self.hash(credentials, salt: known.salt) else { return nil }
        return known
    }

    func remember(_ message: String, of credentials: Credentials) async throws {
        let salt = String(salt(), radix: 16)
        let refusal = Refusal(salt: salt, hash: Self.hash(credentials, salt: salt), message: message)
        latest.withLock { $0 = refusal }
        try await notebook.setNote(
            key, to: ["salt": .string(salt), "hash": .string(refusal.hash), "message": .string(message)])
    }

    func forget() async throws {
        latest.withLock { $0 = nil }
        if try await notebook.note(key) != nil { try await notebook.setNote(key, to: nil) }
    }

    private static func hash(_ credentials: Credentials, salt: String) -> String {
        let secret = SymmetricKey(data: Array(salt.utf8))
        var digest = Array(
            HMAC<SHA256>.authenticationCode(for: Array("\(credentials.username)\u{0}\(credentials.password)".utf8), using: secret)
        )
        for _ in 0..<5_000 { digest = Array(HMAC<SHA256>.authenticationCode(for: digest, using: secret)) }
        return digest.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
