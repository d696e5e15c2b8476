import BellhopConnectors
import Synchronization

/// Tokens of a login that is tried and not stored yet. A class over a lock, because the connection puts them here and the command
/// takes them.
final class DraftTokens: TokenKeeper {
    private let kept = Mutex<KeptTokens?>(nil)

    func tokens(of connection: String) async throws -> KeptTokens? { kept.withLock { $0 } }

    func keep(_ tokens: KeptTokens, of connection: String) async throws { kept.withLock { $0 = tokens } }
}
