public import BellhopCore

/// Gets a connection's tokens and keeps them: one asking at a time, however many want one.
///
/// A token is renewed a margin before its end. A refusal by the token endpoint is final until what was shown changes, a restart
/// included. An actor, because the token belongs to whichever request needs it next; the gate keeps the turns, since an actor lets
/// others in while it waits.
public actor OAuthClient {
    public nonisolated let settings: OAuthSettings
    private let connection: String
    private let exchange: any HTTPExchange
    private let keeper: any TokenKeeper
    private let memory: RefusalMemory
    private let pause: HostPause
    private let clock: any AgentClock
    private let random: @Sendable () -> UInt64

    private var token: OAuthToken?
    /// The newest refresh token; nil before the first answer, and after it was refused.
    private var refresh: String?
    /// What the keychain has not taken yet.
    private var unkept: KeptTokens?
    /// How many askings have ended, and how the last one failed.
    private var ended = 0
    /// How many requests the token endpoint was sent.
    public private(set) var asked = 0
    private var lastFailure: Failure?

    /// - Parameters:
    ///   - exchange: the way to the token endpoint. It must add nothing of its own that another host may not see.
    ///   - connection: its name in bellhop.yaml.
    public init(_ settings: OAuthSettings, connection: String, exchange: any HTTPExchange, environment: ConnectorEnvironment) {
        self.settings = settings
        self.connection = connection
        self.exchange = exchange
        keeper = environment.tokens
        memory = RefusalMemory(
            connection: connection, instance: settings.tokenAddress.text, notebook: environment.notebook, salt: environment.random
        )
        clock = environment.clock
        random = environment.random
        pause = HostPause(
            connection: connection, place: settings.tokenAddress.place, notebook: environment.notebook, clock: environment.clock)
    }

    /// A token to show.
    ///
    /// - Parameters:
    ///   - stale: one that was refused, or whose session ended: another is asked for. The server may hand out the same one again.
    ///   - force: ask even with what the token endpoint has refused before: a person calls for it.
    public func authorization(renewing stale: OAuthToken? = nil, force: Bool = false) async throws(Failure) -> OAuthToken {
        if !force, unkept == nil, let token = usable(instead: stale) { return token }
        let before = ended
        do {
            try await memory.gate.enter()
        } catch {
            throw Failure(.interrupted, .retry(after: nil), "The token was not asked for any more.")
        }
        defer { memory.gate.leave() }
        try await keepWhatIsNot()
        // Whoever asked meanwhile did it for all who wait.
        if ended > before {
            if let token = usable(instead: stale) { return token }
            if let lastFailure { throw lastFailure }
        }
        if !force, let token = usable(instead: stale) { return token }
        let outcome = await uncancelled { await self.renew(stale, force: force) }
        ended += 1
        switch outcome {
        case .success(let token):
            lastFailure = nil
            return token
        case .failure(let failure):
            lastFailure = failure
            // It was early by a margin: what we have is good to its end, and is not asked about again before.
            if !force, failure.reason != .fileSystem, var token, token.text != stale?.text, !token.hasEnded(at: clock.now) {
                token.renewal = token.expires
                self.token = token
                return token
            }
            throw failure
        }
    }

    /// A new asking for a person's agreement; nil where the grant needs none.
    public func askPerson() -> AuthorizationRequest? {
        guard case .authorizationCode(let page, let redirect) = settings.grant else { return nil }
        return AuthorizationRequest(settings, page: page, redirect: redirect, random: random)
    }

    /// Turns the code that a person's agreement brought into tokens, and has them kept.
    public func redeem(_ code: String, of request: AuthorizationRequest) async throws(Failure) {
        let form = TokenForm.redeeming(code, request, settings)
        switch await ask(form) {
        case .granted(let grant): _ = try await take(grant, instead: nil, kept: nil, isLogin: true)
        case .refused(let status, let reason):
            throw Failure(
                .unauthenticated, .giveUp,
                "\(settings.tokenAddress.place) does not take the code of this login (\(Self.words(status, reason))). A code is good "
                    + "once and for a short while: run `bellhop login \(connection)` again, and check the client's id and secret."
            )
        case .failed(let failure): throw failure
        }
    }

    /// Learns whose tokens they are, before `bellhop login` stores them: so it is known from the start, and stays the same.
    func note(user username: String) async {
        guard case .authorizationCode = settings.grant, var tokens = try? await kept(), tokens.mark.isEmpty else { return }
        tokens.username = username
        try? await keeper.keep(tokens, of: connection)
    }

    private func usable(instead stale: OAuthToken?) -> OAuthToken? {
        guard let token, token.text != stale?.text, !token.isDue(at: clock.now) else { return nil }
        return token
    }

    // MARK: Asking

    private func renew(_ stale: OAuthToken?, force: Bool) async -> Result<OAuthToken, Failure> {
        do throws(Failure) {
            return .success(try await renewed(stale, force: force))
        } catch {
            return .failure(error)
        }
    }

    private func renewed(_ stale: OAuthToken?, force: Bool) async throws(Failure) -> OAuthToken {
        let kept = try await kept()
        if let token = adopt(kept, instead: stale) { return token }
        var tried: String?
        if let current = refreshToken(kept) {
            tried = current
            do throws(Failure) {
                return try await show(.refreshing(current, settings, mark: kept?.mark ?? ""), stale, kept, force)
            } catch {
                guard error.reason == .unauthenticated else { throw error }
                refresh = nil
                // Another program may have been faster, and have got the token that follows this one.
                if let now = try await self.kept(), let next = now.refresh, next != current {
                    return try await show(.refreshing(next, settings, mark: now.mark), stale, now, force)
                }
                if settings.needsKeeping { throw error }
            }
        }
        let form: TokenForm?
        do {
            form = try TokenForm.granting(settings, id: AuthorizationRequest.secret(16, random), at: clock.now)
        } catch {
            throw Failure(.badArguments, .giveUp, "The key of connection \(connection) cannot sign.")
        }
        guard let form else {
            let state =
                tried == nil
                ? "No tokens are stored for connection \(connection)" : "The tokens of connection \(connection) are used up"
            throw Failure(.unauthenticated, .pauseConnection, "\(state): run `bellhop login \(connection)`.")
        }
        return try await show(form, stale, kept, force)
    }

    /// What the keychain has for this client; what belongs to another is passed over.
    private func kept() async throws(Failure) -> KeptTokens? {
        guard settings.needsKeeping else { return nil }
        do {
            return try await keeper.tokens(of: connection).flatMap { $0.origin == settings.origin ? $0 : nil }
        } catch {
            throw Failure(.fileSystem, .retry(after: nil), "The tokens of connection \(connection) cannot be read: \(error).")
        }
    }

    /// A token that is kept and good, such as `bellhop login` leaves.
    private func adopt(_ kept: KeptTokens?, instead stale: OAuthToken?) -> OAuthToken? {
        guard let kept, let access = kept.access, access != stale?.text, access != token?.text else { return nil }
        let now = clock.now
        let left = kept.expires.map { $0 - now }
        if let left, left <= (kept.refresh == nil ? .zero : OAuthToken.margin) { return nil }
        let adopted = OAuthToken(access, expiresIn: left, instead: nil, at: now)
        token = adopted
        refresh = kept.refresh
        return adopted
    }

    private func refreshToken(_ kept: KeptTokens?) -> String? {
        if let kept = kept?.refresh { return kept }
        if let refresh { return refresh }
        if case .refreshToken(let first) = settings.grant { return first }
        return nil
    }

    /// Shows the token endpoint something, unless it has refused just that before.
    private func show(
        _ form: TokenForm, _ stale: OAuthToken?, _ kept: KeptTokens?, _ force: Bool
    ) async throws(Failure) -> OAuthToken {
        if !force {
            try await memory.check(form.credentials)
            try await pause.check()
        }
        switch await ask(form) {
        case .granted(let grant):
            let token = try await take(grant, instead: stale, kept: kept, isLogin: false)
            try await RefusalMemory.noting { try await memory.forget() }
            return token
        case .refused(let status, let reason):
            let message =
                "\(settings.tokenAddress.place) gives connection \(connection) no token (\(Self.words(status, reason))): "
                + Self.advice(settings.grant.name, connection)
            try await RefusalMemory.noting { try await memory.remember(message, of: form.credentials) }
            throw Failure(.unauthenticated, .pauseConnection, message)
        case .failed(let failure): throw failure
        }
    }

    private func ask(_ form: TokenForm) async -> TokenAnswer {
        asked += 1
        do {
            let response = try await exchange.send(form.request(settings))
            await pause.note(response)
            let secrets = settings.secrets + form.fields.filter { $0.0 != "grant_type" && $0.0 != "client_id" }.map(\.1)
            return TokenAnswer(response, from: settings.tokenAddress, hiding: secrets, at: clock.now)
        } catch {
            // Asking for a token again does no harm, whatever became of the first asking.
            return .failed(error.failure(changesSomething: false))
        }
    }

    /// Takes over what was granted. What must outlive the program is kept before anybody uses it.
    private func take(
        _ grant: TokenAnswer.Grant, instead stale: OAuthToken?, kept: KeptTokens?, isLogin: Bool
    ) async throws(Failure) -> OAuthToken {
        let old = token?.text == grant.access ? token : stale
        let new = OAuthToken(grant.access, expiresIn: grant.expiresIn, instead: old, at: clock.now)
        token = new
        // No refresh token in the answer: the old one stays good.
        let next = grant.refresh ?? (isLogin ? nil : refreshToken(kept))
        let isReplaced = next != refreshToken(kept)
        refresh = next
        if settings.needsKeeping, isReplaced || isLogin {
            unkept = KeptTokens(
                access: new.text, expires: new.expires, refresh: next, username: kept?.username ?? "", origin: settings.origin,
                mark: kept?.mark ?? "", client: kept?.client)
            try await keepWhatIsNot()
        }
        return new
    }

    private func keepWhatIsNot() async throws(Failure) {
        guard let tokens = unkept else { return }
        do {
            try await keeper.keep(tokens, of: connection)
            unkept = nil
        } catch {
            throw Failure(
                .fileSystem, .retry(after: nil),
                "The server replaced the refresh token of connection \(connection), and the new one cannot be kept: \(error).")
        }
    }

    private static func words(_ status: Int, _ reason: String) -> String { reason.isEmpty ? "\(status)" : "\(status), \(reason)" }

    /// What a person can do. Servers say the same of every cause, so all are named.
    private static func advice(_ grant: OAuthSettings.GrantName, _ connection: String) -> String {
        let again = "It is not asked again until that changes, or until you run `bellhop login \(connection)`."
        return switch grant {
        case .password:
            "the client's id or secret, or the user's name or password is wrong, the user is locked, or the grant is switched off there. \(again)"
        case .refreshToken:
            "the refresh token has run out or was replaced, or the client's id or secret is wrong. Put a new refresh token into bellhop.yaml. \(again)"
        case .clientCredentials:
            "the client's id or secret is wrong, or the grant is switched off there, or has no user to act for. \(again)"
        case .jwt:
            "the client, the key, the subject or the audience is not what the server has registered, or the clocks differ. \(again)"
        case .authorizationCode:
            "the agreement has run out or was withdrawn, or the client's id or secret is wrong. Run `bellhop login \(connection)`."
        }
    }
}
