public import BellhopCore

/// Gets and keeps a connection's tokens: one request at a time for all callers.
///
/// A token is renewed a margin before its end. A refusal by the token endpoint is final until the credentials change, even after
/// a restart. An actor, because all requests share the token; the gate keeps the turns, because an actor is reentrant.
public actor OAuthClient {
    public nonisolated let settings: OAuthSettings
    let connection: String
    private let exchange: any HTTPExchange
    private let storage: any TokenStorage
    private let memory: RefusalMemory
    private let pause: HostPause
    private let clock: any AgentClock
    private let random: @Sendable () -> UInt64

    private var token: OAuthToken?
    /// The newest refresh token; nil before the first answer, and after it was refused.
    private var refresh: String?
    /// The mark of the login that `refresh` comes from; empty if it comes from none.
    private var mark = ""
    /// The latest access token that was taken from the keychain or is stored there. It is not taken again: the keychain has it even after
    /// another one replaced it, and its end may be unknown.
    private var known: String?
    /// Tokens that are not yet in the keychain.
    private var unsaved: StoredTokens?
    /// How many renewals have finished, with or without a token.
    private var finishedRenewals = 0
    /// The failure of the last renewal; nil if it succeeded.
    private var lastFailure: Failure?
    /// How many requests were sent to the token endpoint.
    public private(set) var requestCount = 0
    /// The latest refusal of credentials that no caller has reported yet.
    private var refusal: Failure?

    /// - Parameters:
    ///   - exchange: sends to the token endpoint. It must not add headers or cookies meant for another host.
    ///   - connection: its name in bellhop.yaml.
    public init(_ settings: OAuthSettings, connection: String, exchange: any HTTPExchange, environment: ConnectorEnvironment) {
        self.settings = settings
        self.connection = connection
        self.exchange = exchange
        storage = environment.tokens
        memory = RefusalMemory(
            connection: connection, instance: settings.tokenAddress.text, notebook: environment.notebook, salt: environment.random
        )
        clock = environment.clock
        random = environment.random
        pause = HostPause(
            connection: connection, place: settings.tokenAddress.place, notebook: environment.notebook, clock: environment.clock)
    }

    /// A token to send.
    /// - Parameters:
    ///   - stale: a token that was refused or whose session ended, so another is requested. The server may return the same one.
    ///   - force: whether to send credentials that the token endpoint refused before, because a person asked for it.
    public func authorization(renewing stale: OAuthToken? = nil, force: Bool = false) async throws(Failure) -> OAuthToken {
        if !force, unsaved == nil, let token = usable(instead: stale) { return token }
        let before = finishedRenewals
        do {
            try await memory.gate.enter()
        } catch {
            throw Failure(.interrupted, .retry(after: nil), "The token request was cancelled.")
        }
        defer { memory.gate.leave() }
        try await storeUnsavedTokens()
        // While this caller waited, another caller's renewal finished: its result counts for both.
        if finishedRenewals > before {
            if let token = usable(instead: stale) { return token }
            if let lastFailure { throw lastFailure }
        }
        if !force, let token = usable(instead: stale) { return token }
        let outcome = await uncancelled { await self.renew(stale, force: force) }
        finishedRenewals += 1
        switch outcome {
        case .success(let token):
            (lastFailure, refusal) = (nil, nil)
            return token
        case .failure(let failure):
            lastFailure = failure
            // The current token is valid until it expires; the next renewal is tried then. Tokens are stored before they are used.
            if !force, unsaved == nil, var token, token.text != stale?.text, !token.hasEnded(at: clock.now) {
                token.renewal = token.expires
                self.token = token
                return token
            }
            throw failure
        }
    }

    /// The refusal of credentials since the last call, for a `login_failed` event: ``authorization(renewing:force:)`` does not throw
    /// it while the current token is valid.
    func takeRefusal() -> Failure? {
        defer { refusal = nil }
        return refusal
    }

    /// A new request for a person's authorization; nil for a grant that does not need a person.
    public func authorizationRequest() -> AuthorizationRequest? {
        guard case .authorizationCode(let page, let redirect, let registered) = settings.grant else { return nil }
        return AuthorizationRequest(settings, page: page, redirect: redirect, registered: registered, random: random)
    }

    /// Exchanges the code of an authorization for tokens, and stores them.
    public func redeem(_ code: String, of request: AuthorizationRequest) async throws(Failure) {
        let form = TokenForm.redeeming(code, request, settings)
        switch await send(form) {
        case .granted(let grant): _ = try await store(grant, instead: nil, stored: nil, isLogin: true)
        case .refused(let status, let reason):
            throw Failure(
                .unauthenticated, .giveUp,
                "\(settings.tokenAddress.place) does not accept the code of this login (\(Self.words(status, reason))). A code "
                    + "can be used once, and expires soon: run `bellhop login \(connection)` again, and check the client's id and secret."
            )
        case .failed(let failure): throw failure
        }
    }

    /// Adds the user's name to the tokens before `bellhop login` stores them, so that the first start knows it.
    func note(user username: String) async {
        guard case .authorizationCode = settings.grant, var tokens = try? await stored(), tokens.mark.isEmpty else { return }
        tokens.username = username
        try? await storage.keep(tokens, of: connection)
    }

    private func usable(instead stale: OAuthToken?) -> OAuthToken? {
        guard let token, token.text != stale?.text, !token.isDue(at: clock.now) else { return nil }
        return token
    }

    // MARK: Requesting

    private func renew(_ stale: OAuthToken?, force: Bool) async -> Result<OAuthToken, Failure> {
        do throws(Failure) { return .success(try await renewed(stale, force: force)) } catch { return .failure(error) }
    }

    private func renewed(_ stale: OAuthToken?, force: Bool) async throws(Failure) -> OAuthToken {
        let stored = try await stored()
        if let token = adopt(stored, instead: stale) { return token }
        if let current = refreshToken(stored) {
            do throws(Failure) {
                return try await requestToken(.refreshing(current, settings, mark: stored?.mark ?? ""), stale, stored, force)
            } catch {
                guard error.reason == .unauthenticated else { throw error }
                refresh = nil
                // Another program may have renewed first and stored the next refresh token.
                if let now = try await self.stored(), let next = now.refresh, next != current {
                    return try await requestToken(.refreshing(next, settings, mark: now.mark), stale, now, force)
                }
                if settings.needsKeeping { throw error }
                refusal = nil  // the grant, which is repeated now, decides
            }
        }
        let form: TokenForm?
        do {
            form = try TokenForm.granting(settings, id: AuthorizationRequest.secret(16, random), at: clock.now)
        } catch {
            throw Failure.badArguments("The key of connection \(connection) cannot sign.")
        }
        guard let form else {
            // There is no refresh token, so a person's request, too, uses the access token as long as it is valid.
            if let token, token.text != stale?.text, !token.hasEnded(at: clock.now) { return token }
            let state =
                stored?.access == nil
                ? "No tokens are stored for connection \(connection)"
                : "The token of connection \(connection) is no longer valid, and the server gave no refresh token for it"
            throw Failure(.unauthenticated, .pauseConnection, "\(state): run `bellhop login \(connection)`.")
        }
        return try await requestToken(form, stale, stored, force)
    }

    /// The tokens in the keychain; nil if there are none or they belong to another client.
    private func stored() async throws(Failure) -> StoredTokens? {
        guard settings.needsKeeping else { return nil }
        do {
            return try await storage.tokens(of: connection).flatMap { $0.origin == settings.origin ? $0 : nil }
        } catch {
            throw Failure(.fileSystem, .retry(after: nil), "The tokens of connection \(connection) cannot be read: \(error).")
        }
    }

    /// Uses a valid access token from the keychain, for example one that `bellhop login` stored.
    private func adopt(_ stored: StoredTokens?, instead stale: OAuthToken?) -> OAuthToken? {
        guard let stored, let access = stored.access, access != stale?.text, access != token?.text, access != known else {
            return nil
        }
        let now = clock.now
        let left = stored.expires.map { $0 - now }
        if let left, left <= (stored.refresh == nil ? .zero : OAuthToken.margin) { return nil }
        let adopted = OAuthToken(access, expiresIn: left, instead: nil, at: now)
        (token, known) = (adopted, access)
        (refresh, mark) = (stored.refresh, stored.mark)
        return adopted
    }

    private func refreshToken(_ stored: StoredTokens?) -> String? {
        if let stored = stored?.refresh { return stored }
        if let refresh { return refresh }
        if case .refreshToken(let first) = settings.grant { return first }
        return nil
    }

    /// Requests a token, unless the token endpoint refused these credentials before.
    private func requestToken(
        _ form: TokenForm, _ stale: OAuthToken?, _ stored: StoredTokens?, _ force: Bool
    ) async throws(Failure) -> OAuthToken {
        if !force {
            try await memory.check(form.credentials)
            try await pause.check()
        }
        switch await send(form) {
        case .granted(let grant):
            let token = try await store(grant, instead: stale, stored: stored, isLogin: false)
            try await RefusalMemory.noting { try await memory.forget() }
            return token
        case .refused(let status, let reason):
            let message =
                "\(settings.tokenAddress.place) gave no token to connection \(connection) (\(Self.words(status, reason))): "
                + Self.advice(settings.grant.name, connection)
            try await RefusalMemory.noting { try await memory.remember(message, of: form.credentials) }
            let failure = Failure(.unauthenticated, .pauseConnection, message)
            refusal = failure
            throw failure
        case .failed(let failure): throw failure
        }
    }

    private func send(_ form: TokenForm) async -> TokenAnswer {
        requestCount += 1
        do {
            let response = try await exchange.send(form.request(settings))
            await pause.note(response)
            let secrets = settings.secrets + form.fields.filter { $0.0 != "grant_type" && $0.0 != "client_id" }.map(\.1)
            let answer = TokenAnswer(response, from: settings.tokenAddress, hiding: secrets, at: clock.now)
            if case .refused = answer, let failure = clockFailure(response, at: clock.now) { return .failed(failure) }
            return answer
        } catch {
            // A token request is harmless to repeat.
            return .failed(error.failure(changesSomething: false))
        }
    }

    /// Stores the granted tokens. Tokens that must survive a restart are stored before they are used.
    private func store(
        _ grant: TokenAnswer.Grant, instead stale: OAuthToken?, stored: StoredTokens?, isLogin: Bool
    ) async throws(Failure) -> OAuthToken {
        let old = token?.text == grant.access ? token : stale
        let new = OAuthToken(grant.access, expiresIn: grant.expiresIn, instead: old, at: clock.now)
        token = new
        // Without a new refresh token the old one stays valid.
        let next = grant.refresh ?? (isLogin ? nil : refreshToken(stored))
        let isReplaced = next != refreshToken(stored)
        refresh = next
        // After a logout or the login of another client, nothing is stored here for this client.
        mark = stored?.mark ?? mark
        if settings.needsKeeping, isReplaced || isLogin {
            unsaved = StoredTokens(
                access: new.text, expires: new.expires, refresh: next, username: stored?.username ?? "", origin: settings.origin,
                mark: mark, client: stored?.client)
            try await storeUnsavedTokens()
        }
        return new
    }

    private func storeUnsavedTokens() async throws(Failure) {
        guard let tokens = unsaved else { return }
        do {
            try await storage.keep(tokens, of: connection)
            (known, unsaved) = (tokens.access, nil)
        } catch {
            throw Failure(
                .fileSystem, .retry(after: nil),
                "The server replaced the refresh token of connection \(connection), but the new one cannot be stored: \(error).")
        }
    }
}
