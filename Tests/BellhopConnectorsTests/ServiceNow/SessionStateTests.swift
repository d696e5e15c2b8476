import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopConnectors

/// The steps of a session after each answer, without requests and clocks.
@Suite struct SessionStateTests {
    static let now = Timestamp(seconds: 1_767_603_600)
    static let write = ServiceNowCall(method: "PATCH", target: "/x", body: [:], expecting: .record)
    static let pass = ServiceNowLogin.Authorization(
        headers: ["Authorization": "Basic good"], credentials: Credentials(username: "john.doe", password: "good"))
    static let welcome = HTTPResponse.json(200, ["Set-Cookie": "JSESSIONID=1; Path=/; Secure"], #"{"result":[]}"#)

    static func state(_ way: ServiceNowLogin.Way? = nil) throws -> SessionState {
        let account = Account(connection: "snow", username: "john.doe") { Credentials(username: "john.doe", password: "good") }
        return SessionState(
            base: try HTTPAddress("https://acme.service-now.com"),
            login: ServiceNowLogin(connection: "snow", way: way ?? .password(account), identity: .user("john.doe")))
    }

    /// A session that is open, with a request under way.
    static func opened(_ onSessionEnd: SessionState.OnSessionEnd, _ call: ServiceNowCall = write) throws -> SessionState {
        var state = try state()
        #expect(words(state.begin(call, onSessionEnd, at: now)) == "log in")
        _ = state.logIn(pass, renewing: nil, at: now)
        _ = state.receivedLogin(welcome, at: now)
        #expect(words(state.resume(at: now)) == "send \(call.method) /x")
        return state
    }

    static func words(_ step: SessionState.Step) -> String {
        switch step {
        case .send(let request, _): "send \(request.method) \(request.address.path)"
        case .logIn: "log in"
        case .renew: "renew"
        case .sendCredentials: "credentials"
        case .done(.reply): "reply"
        case .done(.loginWanted): "login wanted"
        case .done(.tokenWanted): "token wanted"
        case .fail(let failure): "fail \(failure.reason.rawValue)"
        }
    }

    // MARK: The table

    static let good = HTTPResponse.json(200, [:], #"{"result":{}}"#)
    static let unknown = HTTPResponse.json(401, ["X-Is-Logged-In": "false"], "{}")
    static let loginPage = HTTPResponse(status: 302, headers: ["Location": "/login.do"])
    static let elsewhere = HTTPResponse(status: 302, headers: ["Location": "https://idp.example/sso"])
    static let token = HTTPResponse.json(401, ["X-Is-Logged-In": "true", "X-UserToken-Response": "t0k"], "{}")
    static let interceptor = HTTPResponse(status: 302, headers: ["Location": "/security_interceptor.do"])
    static let failing = HTTPResponse.json(500, [:], #"{"error":{"message":"x"}}"#)

    /// An answer, and the next step of a request that may be replayed, a first write, and a repeated one.
    static let table: [(HTTPResponse, [String])] = [
        (good, ["reply", "reply", "reply"]), (unknown, ["log in", "login wanted", "fail forbidden"]),
        (loginPage, ["log in", "login wanted", "fail session_expired"]),
        (elsewhere, ["log in", "login wanted", "fail login_required"]),
        (token, ["send PATCH /x", "token wanted", "send PATCH /x"]),
        (interceptor, ["credentials", "credentials", "credentials"]),
        (failing, ["fail server_error", "fail server_error", "fail server_error"]),
    ]

    @Test(arguments: table) func `the answer and the kind of request determine a session's next step`(
        _ answer: HTTPResponse, _ steps: [String]
    )
        throws
    {
        for (onSessionEnd, words) in zip([SessionState.OnSessionEnd.resend, .report, .stop], steps) {
            var state = try Self.opened(onSessionEnd)
            let step = state.received(answer, at: Self.now)
            #expect(Self.words(step) == words)
            let isOver = words == "log in" || words == "login wanted"
            #expect((state.user == nil) == isOver)
            #expect((state.takeEnding() != nil) == isOver)
        }
    }

    @Test(arguments: [(unknown, "fail forbidden"), (loginPage, "fail session_expired"), (elsewhere, "fail login_required")])
    func `a session that ends again right after a login is an error`(_ answer: HTTPResponse, _ words: String) throws {
        var state = try Self.opened(.resend)
        #expect(Self.words(state.received(answer, at: Self.now)) == "log in")
        _ = state.logIn(Self.pass, renewing: nil, at: Self.now)
        _ = state.receivedLogin(Self.welcome, at: Self.now)
        #expect(Self.words(state.resume(at: Self.now)) == "send PATCH /x")
        #expect(Self.words(state.received(answer, at: Self.now)) == words)
    }

    @Test(arguments: [(unknown, "log in"), (loginPage, "log in"), (good, "fail refused")])
    func `a page that leads to another host is a login only if the session has ended`(
        _ own: HTTPResponse, _ words: String
    ) throws {
        var state = try Self.opened(.resend, ServiceNowCall(target: "/x", expecting: .page))
        let step = state.received(HTTPResponse(status: 302, headers: ["Location": "https://other.example/"]), at: Self.now)
        #expect(Self.words(step) == "send GET /api/now/v2/table/sys_user")
        #expect(Self.words(state.received(own == Self.good ? Self.welcome : own, at: Self.now)) == words)
    }

    @Test func `an address that is too long goes into a batch, and so do longer ones from then on`() throws {
        let batch = HTTPResponse.json(200, [:], #"{"serviced_requests":[{"status_code":200,"body":"eyJyZXN1bHQiOnt9fQ=="}]}"#)
        var state = try Self.opened(.resend, ServiceNowCall(target: "/x", expecting: .record))
        #expect(Self.words(state.received(HTTPResponse(status: 414), at: Self.now)) == "send POST /api/now/v1/batch")
        #expect(Self.words(state.received(batch, at: Self.now)) == "reply")
        let longer = state.begin(ServiceNowCall(target: "/xx", expecting: .record), .resend, at: Self.now)
        #expect(Self.words(longer) == "send POST /api/now/v1/batch")
        #expect(Self.words(state.begin(ServiceNowCall(target: "/", expecting: .record), .resend, at: Self.now)) == "send GET /")
    }

    @Test func `without the right to use batches, a long address is sent as it is`() throws {
        var call = ServiceNowCall(target: "/long", expecting: .record)
        call.longest = 3
        let found = HTTPResponse.json(200, [:], #"{"result":{}}"#)
        var state = try Self.opened(.resend, ServiceNowCall(target: "/x", expecting: .record))
        #expect(Self.words(state.received(found, at: Self.now)) == "reply")
        #expect(Self.words(state.begin(call, .resend, at: Self.now)) == "send POST /api/now/v1/batch")
        #expect(Self.words(state.received(HTTPResponse(status: 403), at: Self.now)) == "send GET /long")
        #expect(Self.words(state.received(found, at: Self.now)) == "reply")
        #expect(Self.words(state.begin(call, .resend, at: Self.now)) == "send GET /long")
        #expect(Self.words(state.received(HTTPResponse(status: 414), at: Self.now)) == "send POST /api/now/v1/batch")
        #expect(Self.words(state.received(HTTPResponse(status: 403), at: Self.now)) == "fail too_large")
    }

    @Test func `a refused token is renewed once, and the same one again is an error`() throws {
        func token(_ text: String) -> OAuthToken { OAuthToken(text, expiresIn: nil, instead: nil, at: Self.now) }
        func pass(_ text: String) -> ServiceNowLogin.Authorization {
            ServiceNowLogin.Authorization(
                headers: ["Authorization": "Bearer " + text], credentials: Credentials(username: "c", password: text),
                token: token(text))
        }
        for second in ["a", "b"] {
            var state = try Self.state()
            _ = state.begin(Self.write, .report, at: Self.now)
            _ = state.logIn(pass("a"), renewing: nil, at: Self.now)
            guard case .renew(token("a")) = state.receivedLogin(Self.unknown, at: Self.now) else {
                Issue.record("the token was not renewed")
                continue
            }
            _ = state.sendLogin(pass(second), at: Self.now)
            guard case .failed(let failure, false) = state.receivedLogin(Self.unknown, at: Self.now) else {
                Issue.record("the second refusal is final")
                continue
            }
            #expect(failure.message.contains("the same one again") == (second == "a"))
            #expect(state.user == nil)
        }
    }

    // MARK: Histories

    /// A server that ends sessions, changes passwords, requires tokens and fails.
    struct Server {
        var session: String?
        var sessions = 0
        var usesCookies = true
        var wantsToken = false
        var knowsPassword = true
        var isOut = false
        var refusal = SessionStateTests.unknown
        /// How often the write took effect, and how often it was received.
        var taken = 0
        var received = 0
        var shown: [String] = []

        mutating func answer(_ request: HTTPRequest) -> HTTPResponse {
            let isCall = request.address.path == "/x"
            if isCall {
                received += 1
                if request.headers["Authorization"] != nil { shown.append(String(request.address.path)) }
            }
            if isOut { return SessionStateTests.failing }
            let isSession = session.map { request.headers["Cookie"] == "JSESSIONID=\($0)" } ?? false
            let isPassword = request.headers["Authorization"] == "Basic good" && knowsPassword
            guard isSession || isPassword else { return isCall ? refusal : SessionStateTests.unknown }
            var headers: HeaderFields = [:]
            if !isSession, usesCookies {
                sessions += 1
                session = String(sessions)
                headers["Set-Cookie"] = "JSESSIONID=\(sessions); Path=/; Secure"
            }
            guard isCall else { return .json(200, headers, #"{"result":[]}"#) }
            if wantsToken, request.headers["X-UserToken"] != "t0k" { return SessionStateTests.token }
            taken += 1
            return .json(200, headers, #"{"result":{}}"#)
        }
    }

    /// Performs the steps of one request against the server, as a session would.
    private func run(_ onSessionEnd: SessionState.OnSessionEnd, _ state: inout SessionState, _ server: inout Server) -> String {
        var step = state.begin(Self.write, onSessionEnd, at: Self.now)
        for _ in 0..<12 {
            switch step {
            case .send(let request, _):
                #expect(state.user != nil, "nothing but a login is sent without a session")
                step = state.received(server.answer(request), at: Self.now)
            case .logIn(let stale):
                var login = state.logIn(Self.pass, renewing: stale, at: Self.now)
                if case .send(let request) = login { login = state.receivedLogin(server.answer(request), at: Self.now) }
                switch login {
                case .loggedIn: step = state.resume(at: Self.now)
                case .failed(let failure, let blocks):
                    #expect(state.user == nil)
                    #expect(blocks == (failure.reason == .unauthenticated))
                    return "login failed"
                case .send, .renew, .checkUser:
                    Issue.record("a password is tried once")
                    return "login failed"
                }
            case .renew, .sendCredentials:
                Issue.record("there is no token")
                return ""
            case .done, .fail: return Self.words(step)
            }
        }
        Issue.record("the request does not end")
        return ""
    }

    @Test(arguments: 0..<40) func `whatever the server does, a write takes effect once if it is answered, and otherwise never`(
        _ seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed)
        var state = try Self.state()
        var server = Server()
        server.usesCookies = seed % 4 != 0
        var isLast = false
        for _ in 0..<200 {
            switch Int.random(in: 0..<12, using: &random) {
            case 0, 1: server.session = nil
            case 2: server.knowsPassword.toggle()
            case 3: server.wantsToken.toggle()
            case 4: server.isOut.toggle()
            case 5: server.refusal = [Self.unknown, Self.loginPage, Self.elsewhere][Int.random(in: 0..<3, using: &random)]
            default: break
            }
            let onSessionEnd: SessionState.OnSessionEnd =
                isLast ? .stop : [.resend, .report][Int.random(in: 0..<2, using: &random)]
            let wasKnown = server.usesCookies ? server.session != nil && state.user != nil : server.knowsPassword
            (server.taken, server.received, server.shown) = (0, 0, [])
            let end = run(onSessionEnd, &state, &server)
            isLast = end.hasSuffix("wanted")
            // It takes effect once if it is answered, and otherwise never.
            #expect(server.taken == (end == "reply" ? 1 : 0), "\(end)")
            #expect(server.received <= (onSessionEnd == .report ? 1 : 3))
            if server.usesCookies { #expect(server.shown.isEmpty, "credentials are shown at the login only") }
            switch end {
            case "reply": #expect(!server.isOut)
            case "login wanted", "token wanted": #expect(onSessionEnd == .report)
            case "login failed": #expect(server.isOut || !server.knowsPassword)
            default: #expect(server.isOut || (onSessionEnd == .stop && !wasKnown) || !server.knowsPassword, "\(end)")
            }
            if !server.isOut, server.knowsPassword, onSessionEnd == .resend { #expect(end == "reply") }
        }
    }
}
