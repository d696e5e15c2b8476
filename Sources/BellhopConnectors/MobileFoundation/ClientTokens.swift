import BellhopCore

/// The tokens of a confidential client of Mobile Foundation, one for each set of scopes, requested when needed.
///
/// There are no refresh tokens: the client's secret is sent for each token, in one request at a time, so that a wrong one is sent once.
/// An actor, because all callers share the tokens; the gate keeps the turns, because an actor is reentrant.
actor ClientTokens {
    struct Token: Sendable {
        var text: String
        /// The token is not used from this moment on.
        var ends: Timestamp
    }

    private let address: HTTPAddress
    private let exchange: any HTTPExchange
    private let credentials: Credentials
    private let memory: RefusalMemory
    private let pause: HostPause
    private let events: LoginEvents
    private let clock: any AgentClock
    private var tokens: [String: Token] = [:]
    private var logins = 0
    /// Whether the next token makes an event: the first token does, and each one after a failure or an early end.
    private var isNews = true
    /// The texts of the latest tokens, valid or not, which messages must not contain.
    private(set) var texts: [String] = []
    /// The scopes that resources have demanded, so that the next request sends the right token at once.
    private var demanded: [String: Set<String>] = [:]

    init(
        address: HTTPAddress, exchange: any HTTPExchange, credentials: Credentials, memory: RefusalMemory, pause: HostPause,
        events: LoginEvents, clock: any AgentClock
    ) {
        self.address = address
        self.exchange = exchange
        self.credentials = credentials
        self.memory = memory
        self.pause = pause
        self.events = events
        self.clock = clock
    }

    /// A token for these scopes: the current one or a new one.
    func token(for scopes: Set<String>) async throws(Failure) -> Token {
        let key = Self.key(scopes)
        if let token = tokens[key], token.ends > clock.now { return token }
        return try await memory.gate.inTurn { () async throws(Failure) in
            if let token = self.tokens[key], token.ends > self.clock.now { return token }
            return try await self.get(key, force: false)
        }
    }

    func scopes(of resource: String) -> Set<String>? { demanded[resource] }

    func remember(_ scopes: Set<String>?, of resource: String) {
        // A rule may use another path each time, so the number of resources is limited.
        if demanded.count >= 1000, demanded[resource] == nil { demanded = [:] }
        demanded[resource] = scopes
    }

    /// Gets a new token.
    /// - Parameter force: whether to send a secret that was refused before, because a person asked for it.
    func verify(_ scopes: Set<String>, force: Bool) async throws(Failure) {
        let key = Self.key(scopes)
        try await memory.gate.inTurn { () async throws(Failure) in _ = try await self.get(key, force: force) }
    }

    /// Drops a token that the server no longer accepts, unless it was already replaced.
    func drop(_ token: Token, for scopes: Set<String>) async {
        let key = Self.key(scopes)
        guard tokens[key]?.text == token.text else { return }
        tokens[key] = nil
        isNews = true
        await events.sessionExpired(
            "tokens", logins, reason: "The server no longer accepts the token.", code: .unauthenticated, at: clock.now)
    }

    private static func key(_ scopes: Set<String>) -> String { scopes.sorted().joined(separator: " ") }

    private func get(_ key: String, force: Bool) async throws(Failure) -> Token {
        if !force {
            try await memory.check(credentials)
            try await pause.check()
        }
        logins += 1
        let number = logins
        let token: Token
        do throws(Failure) {
            token = try await ask(for: key)
        } catch {
            isNews = true
            await events.loginEnded("tokens", number, failure: error, at: clock.now)
            if error.reason == .unauthenticated {
                try await RefusalMemory.noting { try await memory.remember(error.message, of: credentials) }
            }
            throw error
        }
        tokens[key] = token
        texts = texts.filter { $0 != token.text }.suffix(15) + [token.text]
        if isNews {
            isNews = false
            await events.loginEnded("tokens", number, at: clock.now)
            try await RefusalMemory.noting { try await memory.forget() }
        }
        return token
    }

    private func ask(for scope: String) async throws(Failure) -> Token {
        let form = [("grant_type", "client_credentials"), ("scope", scope)]
        let request = HTTPRequest(
            "POST", address,
            headers: [
                "Accept": "application/json", "Authorization": credentials.authorization,
                "Content-Type": "application/x-www-form-urlencoded",
            ], body: Array(PercentEncoding.query(form).utf8))
        let asked = clock.now
        let response = try await exchange.send(request, changesSomething: false)
        await pause.note(response)
        let json = try? JSON.parse(response.body)
        if let failure = refusal(response, json, scope) { throw failure }
        guard let text = json?["access_token"]?.asString, !text.isEmpty, HeaderFields.isValue(text) else {
            throw Failure.badAnswer("\(address.place) did not answer with a token.")
        }
        let life = Duration.seconds(min(max(json?["expires_in"]?.asInt ?? 3600, 1), 86_400))
        return Token(text: text, ends: asked + life - min(life / 10, .seconds(60)))
    }

    private func refusal(_ response: HTTPResponse, _ json: JSON?, _ scope: String) -> Failure? {
        if response.isSuccess, !ReceiverAnswer.isPage(response) { return nil }
        let code = (json?["errorCode"] ?? json?["error"])?.asString.map { ASCII.lowercased($0) } ?? ""
        let client = credentials.username
        switch (response.status, code) {
        case (400, "invalid_client"), (401, _):
            return Failure(
                .unauthenticated, .pauseConnection,
                "\(address.place) refuses the client \(client) or its secret (\(response.status))."
                    + credentials.advice(connection: events.connection))
        case (400, "invalid_scope"), (403, _):
            return Failure(
                .forbidden, .giveUp,
                "\(address.place) gives the client \(client) no token for the scope \(Redaction.excerpt(scope, length: 80)) "
                    + "(\(response.status)): the client needs it in its list of allowed scopes.")
        default:
            let answer = ReceiverAnswer(receiver: address.place, secrets: credentials.secrets + texts)
            return answer.failure(of: response, expecting: .success, at: clock.now)
                ?? Failure(.unexpectedPage, .retry(after: nil), "\(address.place) answered with a web page instead of a token.")
        }
    }
}
