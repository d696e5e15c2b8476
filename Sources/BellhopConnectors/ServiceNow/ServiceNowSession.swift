import BellhopCore

/// One session with an instance: sends one request at a time, and logs in again when the server ends the session.
/// ``SessionState`` decides; this performs.
///
/// An actor, because cookies and login belong to the current request; the gate keeps the turns, because an actor is reentrant.
actor ServiceNowSession {
    let base: HTTPAddress
    let clock: any AgentClock
    let name: String
    private let exchange: any HTTPExchange
    private let login: ServiceNowLogin
    private let memory: RefusalMemory
    private let users: UserMemory
    private var events: LoginEvents
    private let gate = FIFOGate()
    private var state: SessionState

    /// - Parameter name: distinguishes the connection's sessions: `reading`, `writing`.
    init(
        _ name: String, base: HTTPAddress, exchange: any HTTPExchange, login: ServiceNowLogin, memory: RefusalMemory,
        users: UserMemory, events: LoginEvents, clock: any AgentClock
    ) {
        self.name = name
        self.base = base
        self.exchange = exchange
        self.login = login
        self.memory = memory
        self.users = users
        self.events = events
        self.clock = clock
        state = SessionState(base: base, login: login)
    }

    var user: ServiceNowUser? { state.user }

    /// The user name on the instance; nil if it is unknown, for example if an API key may not read its own user.
    var username: String? {
        switch login.identity {
        case .user(let name): name
        case .placeholder(let name): user.flatMap { $0.username == name ? nil : $0.username }
        }
    }

    /// Sends a request, and logs in first if needed. If the session ends during it, logs in again and repeats the request, once.
    /// For writes use ``WriteRequest``.
    func send(_ call: ServiceNowCall) async throws(Failure) -> ServiceNowReply {
        guard case .reply(let reply) = try await send(call, .resend) else {
            preconditionFailure("a replayable request returns a reply or throws")
        }
        return reply
    }

    func send(_ call: ServiceNowCall, _ onSessionEnd: SessionState.OnSessionEnd) async throws(Failure) -> SessionState.Answer {
        try await gate.inTurn { () async throws(Failure) in try await self.run(call, onSessionEnd) }
    }

    /// Logs in again.
    /// - Parameter force: whether to try credentials that were refused before, because a person asked for it.
    func verify(force: Bool) async throws(Failure) -> ServiceNowUser {
        try await gate.inTurn { () async throws(Failure) in try await self.logIn(force: force) }
    }

    /// Logs in, unless it has logged in before.
    func logInOnce() async throws(Failure) {
        try await gate.inTurn { () async throws(Failure) in
            guard self.user == nil else { return }
            try await self.logIn(force: false)
        }
    }

    private func run(_ call: ServiceNowCall, _ onSessionEnd: SessionState.OnSessionEnd) async throws(Failure)
        -> SessionState.Answer
    {
        var step = state.begin(call, onSessionEnd, at: clock.now)
        while true {
            switch step {
            case .send(let request, let changesSomething):
                let response = try await exchange.send(request, changesSomething: changesSomething)
                step = state.received(response, at: clock.now)
                if let ending = state.takeEnding() {
                    await events.sessionExpired(name, state.logins, reason: ending.reason, code: ending.code, at: clock.now)
                }
            case .logIn(let stale):
                try await logIn(renewing: stale, force: false)
                step = state.resume(at: clock.now)
            case .renew:
                // Without a new token the session continues as long as the server allows.
                let new = try? await login.oauth?.authorization()
                await reportRefusal()
                step = state.renewed(new, at: clock.now)
            case .sendCredentials: step = state.sendCredentials(try await login.authorization().headers, at: clock.now)
            case .done(let answer): return answer
            case .fail(let failure): throw failure
            }
        }
    }

    // MARK: Logging in

    /// Opens a session; one login per connection at a time.
    /// - Parameters:
    ///   - stale: the token whose session ended.
    ///   - force: whether to try credentials that were refused before, because a person asked for it.
    @discardableResult
    private func logIn(renewing stale: OAuthToken? = nil, force: Bool) async throws(Failure) -> ServiceNowUser {
        do {
            try await memory.gate.enter()
        } catch {
            throw Failure(.interrupted, .retry(after: nil), "The login was cancelled before it started.")
        }
        defer { memory.gate.leave() }
        var authorization = try await self.authorize(renewing: stale, force: force)
        if !force, login.oauth == nil { try await memory.check(authorization.credentials) }
        var step = state.logIn(authorization, renewing: stale, at: clock.now)
        while true {
            do throws(Failure) {
                switch step {
                case .send(let request):
                    step = state.receivedLogin(try await exchange.send(request, changesSomething: false), at: clock.now)
                case .checkUser(let user):
                    try await checkUser(user.username)
                    step = state.completeLogin(user, at: clock.now)
                case .renew, .loggedIn, .failed: break
                }
            } catch {
                step = state.loginFailed(error)
            }
            switch step {
            case .send, .checkUser: continue
            case .renew(let token):
                authorization = try await self.authorize(renewing: token, force: force)
                step = state.sendLogin(authorization, at: clock.now)
            case .loggedIn(let user):
                events.user = user.username
                await events.loginEnded(name, state.logins, at: clock.now)
                try await RefusalMemory.noting { try await memory.forget() }
                return user
            case .failed(let failure, let blocks):
                await events.loginEnded(name, state.logins, failure: failure, at: clock.now)
                if blocks {
                    try await RefusalMemory.noting { try await memory.remember(failure.message, of: authorization.credentials) }
                }
                throw failure
            }
        }
    }

    /// The credentials to send. A failed token request is a failed login.
    private func authorize(renewing stale: OAuthToken?, force: Bool) async throws(Failure) -> ServiceNowLogin.Authorization {
        let before = await login.oauth?.requestCount ?? 0
        do throws(Failure) {
            let authorization = try await login.authorization(renewing: stale, force: force)
            await reportRefusal()
            return authorization
        } catch {
            if let client = login.oauth, await client.requestCount > before {
                _ = await client.takeRefusal()
                state.loginWithoutCredentials()
                await events.loginEnded(name, state.logins, failure: error, at: clock.now)
            }
            throw error
        }
    }

    /// Reports that the renewal of a token was refused while the session continues.
    private func reportRefusal() async {
        guard let failure = await login.oauth?.takeRefusal() else { return }
        state.countLogin()
        await events.loginEnded(name, state.logins, failure: failure, at: clock.now)
    }

    /// Checks that the instance recognizes the same user as before, or the one in bellhop.yaml.
    private func checkUser(_ username: String) async throws(Failure) {
        var known: String?
        switch login.identity {
        case .user(let name): known = name
        case .placeholder: try await RefusalMemory.noting { known = try await users.username() }
        }
        if let known, !ASCII.equalIgnoringCase(username, known) {
            throw login.wrongUser(at: base.place, is: username, instead: known)
        }
        if known == nil { try await RefusalMemory.noting { try await users.remember(username) } }
        await login.oauth?.note(user: username)
    }
}
