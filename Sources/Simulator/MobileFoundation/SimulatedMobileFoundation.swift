import BellhopCore
import Synchronization

/// A simulated Mobile Foundation runtime, with its context root `mfp`: confidential clients, tokens and scopes, adapters, and an
/// external resource under `/external`.
///
/// A class over a lock, because the server's tasks answer from it while tests change it. All methods are synchronous; adapters'
/// closures must not call the runtime again.
public final class SimulatedMobileFoundation: Sendable {
    /// A call of an adapter.
    public struct Call: Sendable, Hashable {
        public var method: String
        /// The text after the adapter's name: a path, or the name of a procedure.
        public var path: String
        /// As sent.
        public var query: [String: String]
        public var form: [String: String]
        /// The positional arguments of a JavaScript adapter, each as JSON text; nil if `params` is not a strict JSON array.
        public var arguments: [String]?
        public var request: ReceivedRequest
    }

    public struct Answer: Sendable, Hashable {
        public var status: Int
        public var type: String
        public var body: String

        public init(_ status: Int = 200, type: String = "application/json", body: String) {
            (self.status, self.type, self.body) = (status, type, body)
        }
    }

    public struct Adapter: Sendable {
        /// The scopes that a token needs; every token has `RegisteredClient`.
        public var scopes: [String]
        public var isJavaScript: Bool
        public var answer: @Sendable (Call) -> Answer

        public init(scopes: [String] = [], isJavaScript: Bool = false, answer: @escaping @Sendable (Call) -> Answer) {
            (self.scopes, self.isJavaScript, self.answer) = (scopes, isJavaScript, answer)
        }
    }

    public struct Client: Sendable, Hashable {
        public var secret: String
        public var scopes: Set<String>
    }

    public struct Counts: Sendable, Hashable {
        public var tokens = 0
        public var refusedClients = 0
        public var calls = 0
    }

    struct Token: Sendable {
        var scopes: Set<String>
        /// Microseconds since 1970.
        var ends: Int64
    }

    struct State: Sendable {
        var clients: [String: Client] = [:]
        var adapters: [String: Adapter] = [:]
        /// An external resource: whether it challenges as Mobile Foundation does, and its content.
        var external: (challenges: Bool, body: String)?
        var services: [String: Adapter] = [:]
        var tokens: [String: Token] = [:]
        var lifetime = 3600
        var counts = Counts()
        var random: SeededRandom
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Int64

    init(seed: UInt64, now: @escaping @Sendable () -> Int64) {
        state = Mutex(State(random: SeededRandom(seed: seed)))
        self.now = now
    }

    func change<Value>(_ body: (inout State, Int64) -> Value) -> Value {
        let now = now()
        return state.withLock { body(&$0, now) }
    }

    /// Adds a confidential client that may get tokens for these scopes.
    public func addClient(_ id: String, secret: String, scopes: Set<String> = []) {
        change { state, _ in state.clients[id] = Client(secret: secret, scopes: scopes.union(["RegisteredClient"])) }
    }

    public func addAdapter(_ name: String, _ adapter: Adapter) { change { state, _ in state.adapters[name] = adapter } }

    /// Adds a back-end service of the API connector, reached below `/mfp/api/services/`; the real address is undocumented.
    public func addService(_ name: String, _ adapter: Adapter) { change { state, _ in state.services[name] = adapter } }

    /// Sets the answer of `/external`, and whether it requires a token of this runtime.
    public func setExternal(_ body: String, challenges: Bool) { change { state, _ in state.external = (challenges, body) } }

    /// Sets the lifetime of new tokens in seconds.
    public func setLifetime(_ seconds: Int) { change { state, _ in state.lifetime = seconds } }

    public func revokeTokens() {
        change { state, _ in state.tokens = state.tokens.mapValues { .init(scopes: $0.scopes, ends: 0) } }
    }

    public var counts: Counts { change { state, _ in state.counts } }

    /// Every issued token. Tests check that no token is visible anywhere.
    public var tokens: [String] { change { state, _ in Array(state.tokens.keys) } }
}
