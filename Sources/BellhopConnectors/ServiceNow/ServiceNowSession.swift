import BellhopCore

/// One server session: cookies, one request at a time, and a new login when the server ends it.
///
/// After the login only cookies say who we are, so that the end of the session shows; where the server sets none, every request
/// carries the credentials. An actor, because the cookies and the login belong to whichever request has its turn; the gate keeps the
/// turns, since an actor lets others in while it waits.
actor ServiceNowSession {
    let base: HTTPAddress
    private let name: String
    private let exchange: any HTTPExchange
    private let credentials: @Sendable () async throws -> Credentials
    private let username: String
    private let memory: RefusalMemory
    private let events: LoginEvents
    private let clock: any AgentClock
    private let gate = FIFOGate()

    private var jar = CookieJar()
    private var csrfToken: String?
    /// Sent along where cookies do not do.
    private var authorization: String?
    /// Who is logged in; nil before the first login and after the session's end.
    private(set) var user: ServiceNowUser?
    /// How many logins were tried.
    private var logins = 0

    /// - Parameter name: tells the sessions of a connection apart: `reading`, `writing`.
    init(
        _ name: String, base: HTTPAddress, exchange: any HTTPExchange, username: String,
        credentials: @escaping @Sendable () async throws -> Credentials, memory: RefusalMemory, events: LoginEvents,
        clock: any AgentClock
    ) {
        self.name = name
        self.base = base
        self.exchange = exchange
        self.username = username
        self.credentials = credentials
        self.memory = memory
        self.events = events
        self.clock = clock
    }

    /// Does what is asked, logging in before or in between where needed: one new login and one replay at most.
    func send(_ call: ServiceNowCall) async throws(Failure) -> ServiceNowReply {
        try await inTurn { () async throws(Failure) in
            if self.user == nil { try await self.logIn(force: false) }
            return try await self.ask(call)
        }
    }

    /// Logs in anew, even with credentials that were refused before: somebody asked for it.
    func verify() async throws(Failure) -> ServiceNowUser {
        try await inTurn { () async throws(Failure) in
            try await self.logIn(force: true)
        }
    }

    private func inTurn<Value: Sendable>(_ work: () async throws(Failure) -> Value) async throws(Failure) -> Value {
        do {
            try await gate.enter()
        } catch {
            throw Failure(.interrupted, .retry(after: nil), "The request was called off before it was sent.")
        }
        defer { gate.leave() }
        return try await work()
    }

    private func ask(_ call: ServiceNowCall) async throws(Failure) -> ServiceNowReply {
        var mayLogIn = true
        var mayAddToken = true
        while true {
            let (response, meaning) = try await transmit(call)
            switch meaning {
            case .ok(let json):
                return reply(response, json)
            case .noRows:
                return reply(response, ["result": []])
            case .csrf(let token) where mayAddToken:
                mayAddToken = false
                if let token { csrfToken = token } else { authorization = try await current().authorization }
            case .sessionExpired where mayLogIn, .unauthenticated where mayLogIn, .loginRequired where mayLogIn:
                mayLogIn = false
                await end(because: meaning)
                try await logIn(force: false)
            case .unauthenticated:
                throw Failure(
                    .forbidden, .giveUp,
                    "\(base.place) accepts the login of \(username), but refuses this request all the same (401).")
            default:
                guard let failure = meaning.failure(of: base.place, changesSomething: call.changesSomething) else {
                    preconditionFailure("what is no good answer is a failure")
                }
                throw failure
            }
        }
    }

    /// Sends a request with what this session has, and keeps the cookies of its answer.
    private func transmit(_ call: ServiceNowCall) async throws(Failure) -> (HTTPResponse, Classification) {
        if let batch = call.inBatch {
            let (response, meaning) = try await transmit(batch)
            guard case .ok(let json) = meaning else { return (response, meaning) }
            guard let inner = ServiceNowCall.reply(in: json, headers: response.headers) else { return (response, .dropped) }
            return (inner, Classification(inner, to: base.with(target: call.target), expecting: call.expecting, at: clock.now))
        }
        let address = base.with(target: call.target)
        var request = HTTPRequest(
            call.method, address, headers: ["Accept": "application/json"], body: call.body?.encoded(),
            timeout: call.timeout, notAfter: call.notAfter)
        if call.body != nil { request.headers["Content-Type"] = "application/json" }
        if let cookies = jar.header(for: address, at: clock.now) { request.headers["Cookie"] = cookies }
        if let authorization { request.headers["Authorization"] = authorization }
        if let csrfToken { request.headers["X-UserToken"] = csrfToken }
        do {
            let response = try await exchange.send(request)
            let now = clock.now
            jar.store(response.headers, from: address, at: now)
            return (response, Classification(response, to: address, expecting: call.expecting, at: now))
        } catch {
            throw error.failure(changesSomething: call.changesSomething)
        }
    }

    private func reply(_ response: HTTPResponse, _ json: JSON) -> ServiceNowReply {
        let time = response.headers["Date"].flatMap { Timestamp(httpDate: $0) }
        return ServiceNowReply(
            json: json, body: response.body, headers: response.headers, serverTime: time, status: response.status)
    }

    // MARK: Logging in

    private func end(because meaning: Classification) async {
        let reason =
            switch meaning {
            case .loginRequired(let host): "The server sends us to \(host) to log in."
            case .sessionExpired: "The server sends us to its login page."
            default: "The server does not know the session any more (401)."
            }
        forgetSession()
        await events.sessionExpired(name, logins, reason: reason, at: clock.now)
    }

    private func forgetSession() {
        jar.removeAll()
        (csrfToken, authorization, user) = (nil, nil, nil)
    }

    @discardableResult
    private func logIn(force: Bool) async throws(Failure) -> ServiceNowUser {
        do {
            try await memory.gate.enter()
        } catch {
            throw Failure(.interrupted, .retry(after: nil), "The login was called off before it was tried.")
        }
        defer { memory.gate.leave() }
        let credentials = try await current()
        if !force { try await checkRefusals(of: credentials) }
        forgetSession()
        logins += 1
        do throws(Failure) {
            let user = try await introduce(credentials)
            self.user = user
            await events.loginEnded(name, logins, ok: true, reason: "", at: clock.now)
            try await note { try await memory.forget() }
            return user
        } catch {
            guard user == nil else { throw error }  // the login went well; the notebook did not
            forgetSession()
            await events.loginEnded(name, logins, ok: false, reason: error.message, at: clock.now)
            if error.reason == .unauthenticated || error.reason == .mfaRequired {
                try await note { try await memory.remember(error.message, of: credentials) }
            }
            throw error
        }
    }

    /// Asks for the user's own record, which is what a login is here: it opens the session, and the server says whether it takes us.
    private func introduce(_ credentials: Credentials) async throws(Failure) -> ServiceNowUser {
        authorization = credentials.authorization
        let query = "user_name=" + credentials.username.replacing("^", with: "^^")
        let call = ServiceNowCall.table(
            "sys_user",
            [("sysparm_query", query), ("sysparm_fields", "name,email,sys_id,user_name"), ("sysparm_limit", "1")],
            expecting: .rows)
        let (_, meaning) = try await transmit(call)
        var user = ServiceNowUser(username: credentials.username)
        switch meaning {
        case .ok(let body):
            if let row = body["result"]?[0], row["user_name"]?.asString == credentials.username {
                user.name = row["name"]?.asString ?? ""
                user.email = row["email"]?.asString ?? ""
                user.sysID = row["sys_id"]?.asString ?? ""
            }
        // Whoever may not read their own record has logged in all the same.
        case .noRows, .forbidden, .goneOrHidden: break
        case .unauthenticated:
            throw Failure(
                .unauthenticated, .pauseConnection,
                "\(base.place) refuses the password of \(credentials.username) (401). It is not tried again until it is another one, "
                    + "or until you run `bellhop login \(events.connection)`. If the password is right, the instance may not allow Basic "
                    + "authentication for this account (role snc_basic_auth_api_access), or want a second factor: "
                    + "run `bellhop login \(events.connection)` once that is mended."
            )
        case .mfaRequired:
            throw Failure(
                .mfaRequired, .pauseConnection,
                "\(base.place) wants a second factor of \(credentials.username), which an unattended program cannot give: "
                    + "use an account for integrations, or run `bellhop login \(events.connection)` once it needs none.")
        default:
            guard let failure = meaning.failure(of: base.place, changesSomething: false) else {
                preconditionFailure("what is no good answer is a failure")
            }
            throw failure
        }
        if jar.header(for: base, at: clock.now) != nil { authorization = nil }
        return user
    }

    private func current() async throws(Failure) -> Credentials {
        let credentials: Credentials
        do {
            credentials = try await self.credentials()
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(
                .unauthenticated, .pauseConnection,
                "There is no login for connection \(events.connection): \(error). Run `bellhop login \(events.connection)`.")
        }
        guard credentials.username == username else {
            throw Failure(
                .unauthenticated, .pauseConnection,
                "The login stored for connection \(events.connection) is of another user now (\(credentials.username), it was \(username)): restart the agent."
            )
        }
        return credentials
    }

    private func checkRefusals(of credentials: Credentials) async throws(Failure) {
        var refusal: RefusalMemory.Refusal?
        try await note { refusal = try await memory.refusal(of: credentials) }
        if let refusal { throw Failure(.unauthenticated, .pauseConnection, refusal.message) }
    }

    private func note(_ work: () async throws -> Void) async throws(Failure) {
        do {
            try await work()
        } catch {
            throw Failure(.fileSystem, .retry(after: nil), "What is known of logins cannot be read or kept: \(error).")
        }
    }
}
