import BellhopCore

/// The only session of a connection with ETO's services. It sends one request at a time.
///
/// The current program is server-side state that belongs to the login, so no other request may run between setting it and the
/// request that needs it. An unexpected 400, 401 or 500 may mean that the session has ended: then a request that changes nothing is
/// repeated once after a new login. An actor, because login and program belong to the current request; the gate keeps the turns,
/// because an actor is reentrant.
actor ETOSession {
    /// The enterprise, site and program in the configuration.
    struct Place: Sendable, Hashable {
        var enterprise: String?
        var site: String?
        var program: ETOProgram?
        /// The last part of the login to a site; its unit is not documented.
        var timeZoneOffset = 0
    }

    struct Login {
        var enterprise: ETOChoice
        var site: ETOChoice
        var token: String
        /// Texts that messages must not contain.
        var secrets: [String]
        /// The server's current program; nil if unknown.
        var program: Int64?
        var programs: [ETOChoice]?
        var made: Timestamp
        /// Whether a request has succeeded since the login.
        var hasServed = false

        /// Whether a doubtful answer may mean that the session has ended. Right after a login it concerns only the request.
        func mayHaveEnded(at now: Timestamp) -> Bool { hasServed || now - made > .seconds(60) }
    }

    nonisolated let base: HTTPAddress
    let chain: ETOChain
    private let exchange: any HTTPExchange
    let wanted: Place
    private let account: Account
    private let memory: RefusalMemory
    private let events: LoginEvents
    let clock: any AgentClock
    let gate = FIFOGate()

    var login: Login?
    private var logins = 0
    /// The number of the last login that failed.
    private var loginsFailed = 0
    private var pauses = ETOPauses()
    /// The steps of the last successful login.
    var steps: [Finding] = []
    /// The ticket with which a person chooses an enterprise and a site.
    private var choosingTicket: ETOChain.Ticket?

    init(
        base: HTTPAddress, exchange: any HTTPExchange, wanted: Place, account: Account, memory: RefusalMemory,
        events: LoginEvents, clock: any AgentClock
    ) {
        self.base = base
        self.exchange = exchange
        self.wanted = wanted
        self.account = account
        self.memory = memory
        self.events = events
        self.clock = clock
        chain = ETOChain(base: base, exchange: exchange, connection: events.connection, clock: clock)
    }

    /// Sends a request in the program it needs, logging in if needed.
    func send(_ call: ETOCall) async throws(Failure) -> ETOReply {
        try await gate.inTurn { () async throws(Failure) in
            try self.pauses.check(call.target, at: self.clock.now)
            do throws(Failure) {
                let reply = try await self.ask(call)
                self.pauses.end(call.target)
                return reply
            } catch  where call.changesSomething && error.reason == .refused {
                throw error  // only this write is at fault
            } catch {
                let isOfLogin = self.login == nil && self.logins > 0 && self.loginsFailed == self.logins
                throw self.pauses.begin(after: error, of: isOfLogin ? ETOPauses.login : call.target, at: self.clock.now)
            }
        }
    }

    /// The number of a program, or of the connection's; nil if neither is set.
    /// - Parameter user: the part of the configuration that names the program, for messages.
    func programID(of program: ETOProgram?, for user: String) async throws(Failure) -> Int64? {
        let namedBy = program == nil ? nil : user
        guard let program = program ?? wanted.program else { return nil }
        if case .id(let number) = program { return number }
        return try await gate.inTurn { () async throws(Failure) in
            if self.login == nil { try await self.logIn(force: false) }
            try await self.enter(program, namedBy: namedBy)
            return self.login?.program
        }
    }

    /// Logs in again, even with a password that was refused before, because a person requested it. Returns the account and place.
    func verify() async throws(Failure) -> String {
        try await gate.inTurn { () async throws(Failure) in
            self.pauses.endAll()
            let login = try await self.logIn(force: true)
            try await self.enter(self.wanted.program, namedBy: nil)
            return "\(self.account.username), \(login.enterprise.name), \(login.site.name)"
        }
    }

    /// Logs in anew, unless these credentials were refused before, and reports each step. Later requests use this login.
    func examine() async -> [Finding] {
        do throws(Failure) {
            return try await gate.inTurn { () async throws(Failure) in
                self.pauses.endAll()
                do throws(Failure) {
                    self.steps = []
                    try await self.logIn(force: false)
                    try await self.checkProgram()
                    return self.steps
                } catch {
                    let names = ["login", "enterprise", "site", "site login"]
                    return self.steps + [Finding(names.dropFirst(self.steps.count).first ?? "program", error)]
                }
            }
        } catch {
            return [Finding("login", error)]
        }
    }

    func enterprises() async throws(Failure) -> [ETOChoice] {
        try await gate.inTurn { () async throws(Failure) in
            let credentials = try await self.account.current()
            let ticket: ETOChain.Ticket
            do throws(Failure) {
                ticket = try await self.chain.authenticate(credentials)
            } catch {
                try await self.remember(error, of: credentials)
                throw error
            }
            self.choosingTicket = ticket
            return try await self.chain.enterprises(ticket)
        }
    }

    func sites(of enterprise: ETOChoice) async throws(Failure) -> [ETOChoice] {
        try await gate.inTurn { () async throws(Failure) in
            guard let ticket = self.choosingTicket else { preconditionFailure("enterprises come before their sites") }
            return try await self.chain.sites(ticket, of: enterprise)
        }
    }

    // MARK: Sending requests

    private func ask(_ call: ETOCall) async throws(Failure) -> ETOReply {
        var mayLogIn = login?.mayHaveEnded(at: clock.now) ?? false
        while true {
            if login == nil { try await logIn(force: false) }
            var isSent = false
            let answer = try await attempt(call, &isSent)
            let changes = isSent && call.changesSomething
            switch answer {
            case .ok(let reply):
                login?.hasServed = true
                return reply
            case .doubtful(let status, _) where mayLogIn && !changes:
                mayLogIn = false
                await endSession(status)
            default:
                await dropIfDoubtful(answer, changes, wasAlive: mayLogIn)
                return try answer.reply(from: base.place, changesSomething: changes)
            }
        }
    }

    /// Drops the session after an answer that may mean its end, but not after a write that was rejected with a message (400).
    private func dropIfDoubtful(_ answer: ETOAnswer, _ changes: Bool, wasAlive: Bool) async {
        switch answer {
        case .doubtful(let status, _) where status != 400 || !changes:
            if wasAlive { await endSession(status) } else if status == 401 { login = nil }
        case .gateway: login = nil
        case .ok, .doubtful, .refused, .throttled, .redirect, .page: break
        }
    }

    /// Makes the request's program the current one if necessary, and sends the request. Before a write it is set again, because
    /// another login of the account may have changed it.
    private func attempt(_ call: ETOCall, _ isSent: inout Bool) async throws(Failure) -> ETOAnswer {
        if !call.keepsProgram, let program = call.program ?? wanted.program {
            let namedBy = call.program == nil ? nil : call.namedBy
            let answer = try await choose(program, namedBy: namedBy, again: call.changesSomething)
            guard case .ok = answer else { return answer }
        }
        isSent = true
        return try await transmit(call)
    }

    func transmit(_ call: ETOCall) async throws(Failure) -> ETOAnswer {
        guard let login else { preconditionFailure("no request is sent before a login") }
        let address = base.with(target: "/API/" + call.target)
        var headers = ETOChain.headers
        headers["enterpriseGuid"] = login.enterprise.key
        headers["securityToken"] = login.token
        let request = HTTPRequest(
            call.method, address, headers: headers, body: call.body?.encoded(), timeout: call.timeout, notAfter: call.notAfter)
        let response = try await exchange.send(request, changesSomething: call.changesSomething)
        return ETOAnswer(response, to: address, secrets: login.secrets, at: clock.now)
    }

    // MARK: Logging in

    private func endSession(_ status: Int) async {
        login = nil
        let reason =
            status == 200
            ? "The services no longer accept the session." : "The services now answer \(status) to the session."
        await events.sessionExpired("services", logins, reason: reason, at: clock.now)
    }

    @discardableResult
    func logIn(force: Bool) async throws(Failure) -> Login {
        let credentials = try await account.current()
        if !force { try await memory.check(credentials) }
        login = nil
        logins += 1
        let new: Login
        do throws(Failure) {
            new = try await performLogin(credentials)
        } catch {
            loginsFailed = logins
            await events.loginEnded("services", logins, failure: error, at: clock.now)
            try await remember(error, of: credentials)
            throw error
        }
        login = new
        pauses.end(ETOPauses.login)
        await events.loginEnded("services", logins, at: clock.now)
        try await RefusalMemory.noting { try await memory.forget() }
        return new
    }

    private func performLogin(_ credentials: Credentials) async throws(Failure) -> Login {
        func chosen(_ choice: ETOChoice, of count: Int) -> String {
            let name = DisplayText.line(GUID.masked(choice.name))
            return count == 1 ? "\(name), the only one" : "\(name), of \(count)"
        }
        steps = []
        let ticket = try await chain.authenticate(credentials)
        steps.append(Finding("login", .ok, credentials.username))
        let enterprises = try await chain.enterprises(ticket)
        let enterprise = try chain.choose(wanted.enterprise, from: enterprises, "enterprise")
        steps.append(Finding("enterprise", .ok, chosen(enterprise, of: enterprises.count)))
        let sites = try await chain.sites(ticket, of: enterprise)
        let site = try chain.choose(wanted.site, from: sites, "site")
        steps.append(Finding("site", .ok, chosen(site, of: sites.count)))
        let security = try await chain.enter(site, of: enterprise, ticket, offset: wanted.timeZoneOffset)
        steps.append(Finding("site login", .ok, "the site accepts the account"))
        return Login(
            enterprise: enterprise, site: site, token: security, secrets: ticket.secrets + [security, enterprise.key],
            made: clock.now)
    }

    /// Remembers the password if the login failed because of it.
    private func remember(_ failure: Failure, of credentials: Credentials) async throws(Failure) {
        guard failure.reason == .unauthenticated, failure.remedy == .pauseConnection else { return }
        try await RefusalMemory.noting { try await memory.remember(failure.message, of: credentials) }
    }
}
