import BellhopCore

/// One server session: cookies, one request at a time, and a new login when the server ends it.
///
/// A password or token logs in first; after that only cookies authenticate, so that the end of the session is noticed. If the
/// server sets none, every request carries the credentials. An actor, because cookies and login belong to the request whose turn
/// it is; the gate keeps the turns, since actors are reentrant.
actor ServiceNowSession {
    let base: HTTPAddress
    let name: String
    let login: ServiceNowLogin
    private let exchange: any HTTPExchange
    let memory: RefusalMemory
    let users: UserMemory
    var events: LoginEvents
    let clock: any AgentClock
    private let gate = FIFOGate()

    var jar = CookieJar()
    private var csrfToken: String?
    /// The longest address that may pass, as far as is known.
    private var longestAddress = Int.max
    /// Sent with each request if cookies are not enough.
    var proof: HeaderFields = [:]
    /// Whether the next good answer opens the session, after which cookies suffice.
    private var opens = false
    /// The token that opened the session.
    var token: OAuthToken?
    /// The token of a session that ended during a write: the next login renews it.
    private var stale: OAuthToken?
    /// Who is logged in; nil before the first login and after the session's end.
    var user: ServiceNowUser?
    /// The number of attempted logins.
    var logins = 0

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
    }

    /// Sends a request, logging in before or in between if needed, with at most one new login and one replay. For writes use
    /// ``ServiceNowSession/write(_:unless:)``.
    func send(_ call: ServiceNowCall) async throws(Failure) -> ServiceNowReply {
        guard case .reply(let reply) = try await send(call, .replaying) else {
            preconditionFailure("a replayable request returns a reply or throws")
        }
        return reply
    }

    /// The result of a request.
    enum Sent {
        case reply(ServiceNowReply)
        /// The server asked for a login: the session is over.
        case loginWanted
        /// The server asked for the session's token (CSRF), which is sent from now on.
        case tokenWanted
    }

    /// What to do with a request whose session ends during it.
    enum Turn {
        /// Resend it after a new login.
        case replaying
        /// The caller decides whether to resend it after a new login.
        case first
        /// It was already resent; stop.
        case last
    }

    func send(_ call: ServiceNowCall, _ turn: Turn) async throws(Failure) -> Sent {
        try await gate.inTurn { () async throws(Failure) in
            if self.user == nil {
                let stale = self.stale
                self.stale = nil
                try await self.logIn(renewing: stale, force: false)
            } else {
                await self.renewToken()
            }
            return try await self.ask(call, turn)
        }
    }

    /// Logs in again.
    ///
    /// - Parameter force: even with refused credentials, because a person asked for it.
    func verify(force: Bool) async throws(Failure) -> ServiceNowUser {
        try await gate.inTurn { () async throws(Failure) in
            try await self.logIn(force: force)
        }
    }

    private func ask(_ call: ServiceNowCall, _ turn: Turn) async throws(Failure) -> Sent {
        let original = call
        var call = call
        var hops = 0
        var mayLogIn = turn != .last
        var mayAddToken = true
        while true {
            var (response, meaning) = try await transmit(call)
            if case .elsewhere(let host) = meaning, mayLogIn, try await isLost() { meaning = .loginRequired(host: host) }
            switch meaning {
            case .ok(let json):
                return .reply(reply(response, json))
            case .noRows:
                return .reply(reply(response, ["result": []]))
            case .csrf(let token) where mayAddToken:
                mayAddToken = false
                if let token { csrfToken = token } else { proof = try await login.pass().headers }
                if turn == .first { return .tokenWanted }
            case .moved(let target) where turn == .replaying && hops < HTTPRequest.mostRedirects:
                hops += 1
                call.target = target
            case .sessionExpired where mayLogIn, .unauthenticated where mayLogIn, .loginRequired where mayLogIn:
                mayLogIn = false
                let stale = token
                await end(because: meaning)
                if turn == .first {
                    self.stale = stale
                    return .loginWanted
                }
                try await logIn(renewing: stale, force: false)
                // The original request, not where the ended session redirected it.
                (call, hops) = (original, 0)
            case .unauthenticated:
                throw login.outOfBounds(at: base.place, user: user?.username ?? login.identity.text)
            case .elsewhere, .noPage: throw failure(of: meaning, at: page(original), changesSomething: false)
            default: throw failure(of: meaning, at: base.place, changesSomething: call.changesSomething)
            }
        }
    }

    /// Checks with one small request whether the session has ended.
    private func isLost() async throws(Failure) -> Bool {
        let (_, meaning) = try await transmit(ownRecord)
        return [.unauthenticated, .sessionExpired].contains(meaning) || meaning.isLogin
    }

    /// The page's address for messages, without its query.
    private func page(_ call: ServiceNowCall) -> String { "The page \(base.place)\(call.target.prefix { $0 != "?" })" }

    /// Sends a request with this session's cookies and credentials, and stores the answer's cookies.
    func transmit(_ call: ServiceNowCall) async throws(Failure) -> (HTTPResponse, Classification) {
        if let batch = call.inBatch(beyond: longestAddress) {
            let (response, meaning) = try await transmit(batch)
            guard case .ok(let json) = meaning else { return (response, meaning.ofBatch(response.status)) }
            guard let inner = ServiceNowCall.reply(in: json, headers: response.headers) else { return (response, .dropped) }
            return (inner, Classification(inner, to: base.with(target: call.target), expecting: call.expecting, at: clock.now))
        }
        let address = base.with(target: call.target)
        var request = HTTPRequest(
            call.method, address, headers: ["Accept": "application/json"], body: call.file?.bytes ?? call.body?.encoded(),
            timeout: call.timeout, notAfter: call.notAfter)
        for field in call.headers.fields { request.headers[field.name] = field.value }
        if call.body != nil { request.headers["Content-Type"] = "application/json" }
        if let file = call.file { request.headers["Content-Type"] = file.type }
        if let cookies = jar.header(for: address, at: clock.now) { request.headers["Cookie"] = cookies }
        for field in proof.fields { request.headers[field.name] = field.value }
        if let csrfToken { request.headers["X-UserToken"] = csrfToken }
        do {
            let response = try await exchange.send(request)
            let now = clock.now
            jar.store(response.headers, from: address, at: now)
            let meaning = Classification(response, to: address, expecting: call.expecting, at: now)
            if opens, response.isSuccess, jar.header(for: base, at: now) != nil { (proof, opens) = ([:], false) }
            guard meaning == .tooLong, call.mayBeInBatch else { return (response, meaning) }
        } catch {
            throw error.failure(changesSomething: call.changesSomething)
        }
        // Something on the way accepts shorter addresses only: requests this long go into a batch from now on.
        longestAddress = min(longestAddress, call.target.utf8.count - 1)
        return try await transmit(call)
    }

    private func reply(_ response: HTTPResponse, _ json: JSON) -> ServiceNowReply {
        let time = response.headers["Date"].flatMap { Timestamp(httpDate: $0) }
        return ServiceNowReply(
            json: json, body: response.body, headers: response.headers, serverTime: time, status: response.status)
    }

    /// The user name on the instance; nil if only the instance knows it, as when a key may not read its own user.
    var username: String? {
        switch login.identity {
        case .user(let name): name
        case .standIn(let name): user.flatMap { $0.username == name ? nil : $0.username }
        }
    }

    // MARK: The session's end

    private func end(because meaning: Classification) async {
        let (reason, code): (String, Failure.Reason) =
            switch meaning {
            case .loginRequired(let host): ("The server redirects to \(host) for login.", .loginRequired)
            case .sessionExpired: ("The server redirects to its login page.", .sessionExpired)
            default: ("The server no longer knows the session (401).", .unauthenticated)
            }
        forgetSession()
        await events.sessionExpired(name, logins, reason: reason, code: code, at: clock.now)
    }

    func forgetSession() {
        jar.removeAll()
        (csrfToken, proof, user, opens) = (nil, [:], nil, false)
    }

    /// Opens a session with another token shortly before the current one expires, so that nothing is interrupted. If no other
    /// token is available, the session continues as long as the server allows.
    private func renewToken() async {
        guard let client = login.oauth, let old = token, old.isDue(at: clock.now) else { return }
        do throws(Failure) {
            let new = try await client.authorization()
            guard new.text != old.text else { return }
            jar.removeAll()
            (csrfToken, proof, token, opens) = (nil, ["Authorization": new.authorization], new, true)
        } catch {
            return  // the missing token is reported when the server ends the session with 401
        }
    }

    /// The failure for an answer that is not a good one.
    func failure(of meaning: Classification, at place: String, changesSomething: Bool) -> Failure {
        switch meaning {
        case .loginRequired(let host): return login.loginPage(at: base.place, leadsTo: host)
        case .sessionExpired: return login.loginPage(at: base.place, leadsTo: nil)
        default: break
        }
        guard let failure = meaning.failure(of: place, changesSomething: changesSomething) else {
            preconditionFailure("every other classification is a failure")
        }
        return failure
    }
}
