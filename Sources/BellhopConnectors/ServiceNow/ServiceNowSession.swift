import BellhopCore

/// One server session: cookies, one request at a time, and a new login when the server ends it.
///
/// What logs in goes first, a password or a token; from then on only cookies say who we are, so that the end of the session shows.
/// Where the server sets none, every request carries what logged in. An actor, because the cookies and the login belong to whichever
/// request has its turn; the gate keeps the turns, since an actor lets others in while it waits.
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
    /// The longest address that may pass, as far as answers have shown.
    private var longestAddress = Int.max
    /// Sent along where cookies do not do.
    var proof: HeaderFields = [:]
    /// Whether the next good answer opens the session, after which cookies do.
    private var opens = false
    /// What the session was opened with.
    var token: OAuthToken?
    /// What a session was opened with that ended under a write: the next login renews it.
    private var stale: OAuthToken?
    /// Who is logged in; nil before the first login and after the session's end.
    var user: ServiceNowUser?
    /// How many logins were tried.
    var logins = 0

    /// - Parameter name: tells the sessions of a connection apart: `reading`, `writing`.
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

    /// Does what is asked, logging in before or in between where needed: one new login and one replay at most. What changes something
    /// is for ``ServiceNowSession/write(_:unless:)``.
    func send(_ call: ServiceNowCall) async throws(Failure) -> ServiceNowReply {
        guard case .reply(let reply) = try await send(call, .replaying) else {
            preconditionFailure("what may be replayed has a reply or fails")
        }
        return reply
    }

    /// What came of a request.
    enum Sent {
        case reply(ServiceNowReply)
        /// The server asked for a login instead: the session is over.
        case loginWanted
        /// The server asked for the session's token (CSRF), which goes along from now on.
        case tokenWanted
    }

    /// What may become of a request where the session ends under it.
    enum Turn {
        /// After a new login it is sent again.
        case replaying
        /// It is for the caller to say whether it is sent again after a new login.
        case first
        /// It was sent again; no more.
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

    /// Logs in anew.
    ///
    /// - Parameter force: also with credentials that were refused before: somebody asked for it.
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
            case .moved(let target) where turn == .replaying && hops < WebSession.mostRedirects:
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
                // What was asked for first, not where the session's end has led.
                (call, hops) = (original, 0)
            case .unauthenticated:
                throw login.outOfBounds(at: base.place, user: user?.username ?? login.identity.text)
            case .elsewhere, .noPage: throw failure(of: meaning, at: page(original), changesSomething: false)
            default: throw failure(of: meaning, at: base.place, changesSomething: call.changesSomething)
            }
        }
    }

    /// Whether the session has ended, by one small request.
    private func isLost() async throws(Failure) -> Bool {
        let (_, meaning) = try await transmit(ownRecord)
        return [.unauthenticated, .sessionExpired].contains(meaning) || meaning.isLogin
    }

    /// A page for messages, without its query.
    private func page(_ call: ServiceNowCall) -> String { "The page \(base.place)\(call.target.prefix { $0 != "?" })" }

    /// Sends a request with what this session has, and keeps the cookies of its answer.
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
        // Something on the way takes less than we were told: what is as long goes in the body of a batch from now on.
        longestAddress = min(longestAddress, call.target.utf8.count - 1)
        return try await transmit(call)
    }

    private func reply(_ response: HTTPResponse, _ json: JSON) -> ServiceNowReply {
        let time = response.headers["Date"].flatMap { Timestamp(httpDate: $0) }
        return ServiceNowReply(
            json: json, body: response.body, headers: response.headers, serverTime: time, status: response.status)
    }

    /// The user name that the instance knows us by; nil while only it knows, as where a key may not read its own user.
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
            case .loginRequired(let host): ("The server sends us to \(host) to log in.", .loginRequired)
            case .sessionExpired: ("The server sends us to its login page.", .sessionExpired)
            default: ("The server does not know the session any more (401).", .unauthenticated)
            }
        forgetSession()
        await events.sessionExpired(name, logins, reason: reason, code: code, at: clock.now)
    }

    func forgetSession() {
        jar.removeAll()
        (csrfToken, proof, user, opens) = (nil, [:], nil, false)
    }

    /// Opens a session with another token before the one it has ends, where that is near: nothing is lost on the way. Where no other
    /// token is to be had the session goes on as long as the server lets it.
    private func renewToken() async {
        guard let client = login.oauth, let old = token, old.isDue(at: clock.now) else { return }
        do throws(Failure) {
            let new = try await client.authorization()
            guard new.text != old.text else { return }
            jar.removeAll()
            (csrfToken, proof, token, opens) = (nil, ["Authorization": new.authorization], new, true)
        } catch {
            return  // the server says 401 when the session has ended, and then it is told why there is no token
        }
    }

    /// What an answer that is no good one means.
    func failure(of meaning: Classification, at place: String, changesSomething: Bool) -> Failure {
        switch meaning {
        case .loginRequired(let host): return login.loginPage(at: base.place, leadsTo: host)
        case .sessionExpired: return login.loginPage(at: base.place, leadsTo: nil)
        default: break
        }
        guard let failure = meaning.failure(of: place, changesSomething: changesSomething) else {
            preconditionFailure("what is no good answer is a failure")
        }
        return failure
    }
}
