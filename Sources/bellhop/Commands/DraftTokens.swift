import BellhopConnectors
import Synchronization

/// Tokens of a login that is being tried and not stored yet. A class over a lock, because the connection writes them and the
/// command reads them.
final class DraftTokens: TokenKeeper {
    private let kept = Mutex<KeptTokens?>(nil)

    func tokens(of connection: String) async throws -> KeptTokens? { kept.withLock { $0 } }

    func keep(_ tokens: KeptTokens, of connection: String) async throws { kept.withLock { $0 = tokens } }
}
