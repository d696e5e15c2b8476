import BellhopCore

/// The instance's clients, tokens and keys.
struct TokenStore: Sendable {
    struct Token: Sendable {
        var text: String
        var client: String
        /// sys_id.
        var user: String
        var ends: Int64
    }

    struct Code: Sendable {
        var client: String
        var user: String
        var redirect: String
        var challenge: String?
        var ends: Int64
    }

    var clients: [String: SimulatedClient] = [:]
    var keys: [String: SimulatedAPIKey] = [:]
    private(set) var access: [String: Token] = [:]
    private(set) var refresh: [String: Token] = [:]
    private var codes: [String: Code] = [:]
    private var seenAssertions: Set<String> = []
    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    /// A client's token for a user: the valid one, if there is one, unless a new one is wanted.
    mutating func accessToken(for user: String, of client: SimulatedClient, isNew: Bool, at now: Int64) -> Token {
        Self.token(in: &access, isNew: isNew, for: user, of: client, seconds: client.accessSeconds, at: now, &random)
    }

    mutating func refreshToken(for user: String, of client: SimulatedClient, at now: Int64) -> Token {
        Self.token(in: &refresh, isNew: false, for: user, of: client, seconds: client.refreshSeconds, at: now, &random)
    }

    private static func token(
        in store: inout [String: Token], isNew: Bool, for user: String, of client: SimulatedClient, seconds: Int, at now: Int64,
        _ random: inout SeededRandom
    ) -> Token {
        let known = store.values.filter { $0.user == user && $0.client == client.id && $0.ends > now }
            .max { ($0.ends, $0.text) < ($1.ends, $1.text) }
        if !isNew, let known { return known }
        let token = Token(text: random.hex(86), client: client.id, user: user, ends: now + Int64(seconds) * CivilTime.second)
        store[token.text] = token
        return token
    }

    mutating func endRefreshToken(_ text: String) { refresh[text] = nil }

    mutating func revoke(access: Bool, refresh: Bool) {
        if access { self.access = [:] }
        if refresh { self.refresh = [:] }
    }

    func access(_ text: String, at now: Int64) -> Token? { access[text].flatMap { $0.ends > now ? $0 : nil } }

    mutating func addCode(_ code: Code) -> String {
        let text = random.hex(40)
        codes[text] = code
        return text
    }

    /// The code, which can be used once.
    mutating func takeCode(_ text: String, at now: Int64) -> Code? {
        codes.removeValue(forKey: text).flatMap { $0.ends > now ? $0 : nil }
    }

    /// False if an assertion with that id was seen before.
    mutating func noteAssertion(_ id: String) -> Bool { seenAssertions.insert(id).inserted }
}
