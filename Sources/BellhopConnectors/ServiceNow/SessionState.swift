import BellhopCore

/// The state of a session and of its current request: decides what to send and what an answer means. It performs nothing.
///
/// A request begins with ``begin(_:_:at:)`` and ends with the step `done` or `fail`; the caller performs each step between and
/// reports its result. The login sends the password or token; after that only cookies authenticate, so that the session's end is
/// noticed. If the server sets no cookies, every request sends the credentials. A request causes at most one new login.
struct SessionState: Sendable {
    private struct Request: Sendable {
        /// The call as given, before any redirect.
        var original: ServiceNowCall
        var call: ServiceNowCall
        var onSessionEnd: OnSessionEnd
        var mayLogIn: Bool
        var mayAddToken = true
        var hops = 0
        /// The host of a page's redirect, while a request for the user's own record checks whether the session has ended.
        var doubtfulHost: String?
    }

    private struct LoginAttempt: Sendable {
        var authorization: ServiceNowLogin.Authorization
        /// The token that was refused or whose session ended.
        var refused: OAuthToken?
        var mayRenew: Bool
    }

    let base: HTTPAddress
    let login: ServiceNowLogin
    /// Who is logged in; nil before the first login and after the session's end.
    private(set) var user: ServiceNowUser?
    private(set) var logins = 0
    private var jar = CookieJar()
    private var csrfToken: String?
    /// The longest address that has not been refused.
    private var longestAddress = Int.max
    /// Whether long addresses go into a batch before one is refused: not if the account may not use batches.
    private var batchesInAdvance = true
    /// The headers with the credentials, sent with each request while cookies are not enough.
    private var authHeaders: HeaderFields = [:]
    /// Whether the session begins with the next good answer: after it, cookies are enough.
    private var opens = false
    /// The token that opened the session.
    private var token: OAuthToken?
    /// The token of a session that ended during a write; the next login renews it.
    private var stale: OAuthToken?
    private var request: Request?
    private var attempt: LoginAttempt?
    private var ending: Ending?

    init(base: HTTPAddress, login: ServiceNowLogin) { (self.base, self.login) = (base, login) }

    // MARK: A request

    mutating func begin(_ call: ServiceNowCall, _ onSessionEnd: OnSessionEnd, at now: Timestamp) -> Step {
        request = Request(original: call, call: call, onSessionEnd: onSessionEnd, mayLogIn: onSessionEnd != .stop)
        guard user != nil else {
            defer { stale = nil }
            return .logIn(renewing: stale)
        }
        if let token, token.isDue(at: now) { return .renew(token) }
        return send(call, at: now)
    }

    /// Continues after a login.
    mutating func resume(at now: Timestamp) -> Step {
        guard let request else { preconditionFailure("only a request under way is resumed") }
        return send(request.call, at: now)
    }

    /// Continues in a new session with the renewed token, so that no request is interrupted.
    /// - Parameter new: nil if there is none: then the old session continues as long as the server allows.
    mutating func renewed(_ new: OAuthToken?, at now: Timestamp) -> Step {
        if let new, new.text != token?.text {
            jar.removeAll()
            (csrfToken, authHeaders, token, opens) = (nil, ["Authorization": new.authorization], new, true)
        }
        return resume(at: now)
    }

    /// Sends the credentials again, because the server demanded the CSRF token but did not send it.
    mutating func sendCredentials(_ credentials: HeaderFields, at now: Timestamp) -> Step {
        authHeaders = credentials
        return tokenAdded(at: now)
    }

    /// The next step after an answer to the request.
    mutating func received(_ response: HTTPResponse, at now: Timestamp) -> Step {
        guard let request else { preconditionFailure("an answer belongs to a request") }
        let asked = request.doubtfulHost == nil ? request.call : ownRecord
        guard case (let response, var meaning)? = read(response, to: asked, at: now) else { return send(asked, at: now) }
        if let host = request.doubtfulHost {
            self.request?.doubtfulHost = nil
            let isLost = meaning == .unauthenticated || meaning == .sessionExpired || meaning.isLogin
            meaning = isLost ? .loginRequired(host: host) : .elsewhere(host: host)
            if !isLost { return .fail(failure(of: meaning, at: page(request.original), changesSomething: false)) }
        }
        switch meaning {
        case .ok(let json): return .done(.reply(ServiceNowReply(response, json)))
        case .noRows: return .done(.reply(ServiceNowReply(response, ["result": []])))
        case .elsewhere(let host) where request.mayLogIn:
            self.request?.doubtfulHost = host
            return send(ownRecord, at: now)
        case .csrf(let token) where request.mayAddToken:
            self.request?.mayAddToken = false
            guard let token else { return .sendCredentials }
            csrfToken = token
            return tokenAdded(at: now)
        case .moved(let target) where request.onSessionEnd == .resend && request.hops < HTTPRequest.maxRedirects:
            self.request?.hops += 1
            self.request?.call.target = target
            return resume(at: now)
        case .sessionExpired where request.mayLogIn, .unauthenticated where request.mayLogIn,
            .loginRequired where request.mayLogIn:
            return end(request, because: meaning)
        case .unauthenticated: return .fail(login.requestRefused(at: base.place, user: user?.username ?? login.identity.text))
        case .elsewhere, .noPage: return .fail(failure(of: meaning, at: page(request.original), changesSomething: false))
        default: return .fail(failure(of: meaning, at: base.place, changesSomething: request.call.changesSomething))
        }
    }

    /// Why the session ended with the last answer; each end is returned once.
    mutating func takeEnding() -> Ending? {
        defer { ending = nil }
        return ending
    }

    private mutating func tokenAdded(at now: Timestamp) -> Step {
        request?.onSessionEnd == .report ? .done(.tokenWanted) : resume(at: now)
    }

    private mutating func end(_ request: Request, because meaning: Classification) -> Step {
        ending =
            switch meaning {
            case .loginRequired(let host): Ending(reason: "The server redirects to \(host) for login.", code: .loginRequired)
            case .sessionExpired: Ending(reason: "The server redirects to its login page.", code: .sessionExpired)
            default: Ending(reason: "The server no longer knows the session (401).", code: .unauthenticated)
            }
        forget()
        if request.onSessionEnd == .report {
            stale = token
            return .done(.loginWanted)
        }
        self.request?.mayLogIn = false
        self.request?.hops = 0
        self.request?.call = request.original
        return .logIn(renewing: token)
    }

    private mutating func forget() {
        jar.removeAll()
        (csrfToken, authHeaders, user, opens) = (nil, [:], nil, false)
    }

    // MARK: A login

    /// Requests the user's own record: it opens the session and shows whether the server accepts the credentials.
    /// - Parameter stale: a token whose session ended.
    mutating func logIn(
        _ authorization: ServiceNowLogin.Authorization, renewing stale: OAuthToken?, at now: Timestamp
    ) -> LoginStep {
        logins += 1
        attempt = LoginAttempt(authorization: authorization, refused: stale, mayRenew: authorization.token != nil && stale == nil)
        return sendLogin(authorization, at: now)
    }

    mutating func sendLogin(_ authorization: ServiceNowLogin.Authorization, at now: Timestamp) -> LoginStep {
        forget()
        attempt?.authorization = authorization
        authHeaders = authorization.headers
        return .send(httpRequest(ownRecord, at: now))
    }

    mutating func receivedLogin(_ response: HTTPResponse, at now: Timestamp) -> LoginStep {
        guard let attempt else { preconditionFailure("an answer belongs to a login") }
        guard let (_, meaning) = read(response, to: ownRecord, at: now) else { return .send(httpRequest(ownRecord, at: now)) }
        switch meaning {
        case .ok(let body):
            guard let row = body["result"]?[0], let username = row["user_name"]?.asString,
                login.asksForUser ? !username.isEmpty : ASCII.equalIgnoringCase(username, login.identity.text)
            else { break }
            let user = ServiceNowUser(
                username: username, name: row["name"].textOrEmpty, email: row["email"].textOrEmpty,
                sysID: row["sys_id"].textOrEmpty)
            return login.asksForUser ? .checkUser(user) : completeLogin(user, at: now)
        // These answers, too, follow a successful login: the account may just not read its own record.
        case .noRows, .forbidden, .goneOrHidden: break
        case .unauthenticated:
            if let token = attempt.authorization.token, token.text == attempt.refused?.text {
                return loginFailed(login.sameToken(at: base.place, token, at: now))
            }
            return loginFailed(login.refusal(of: attempt.authorization.credentials, at: base.place))
        case .mfaRequired: return loginFailed(login.secondFactor(at: base.place))
        default: return loginFailed(failure(of: meaning, at: base.place, changesSomething: false))
        }
        return completeLogin(ServiceNowUser(username: login.identity.text), at: now)
    }

    mutating func completeLogin(_ user: ServiceNowUser, at now: Timestamp) -> LoginStep {
        self.user = user
        token = attempt?.authorization.token
        if !login.isSentAlways, jar.header(for: base, at: now) != nil { authHeaders = [:] }
        return .loggedIn(user)
    }

    /// A refused token is renewed once.
    mutating func loginFailed(_ failure: Failure) -> LoginStep {
        forget()
        let isRefusal = [.unauthenticated, .loginRequired, .sessionExpired].contains(failure.reason)
        guard let token = attempt?.authorization.token else {
            return .failed(failure, blocks: failure.reason == .unauthenticated || failure.reason == .mfaRequired)
        }
        guard isRefusal, attempt?.mayRenew == true else { return .failed(failure, blocks: false) }
        attempt?.mayRenew = false
        attempt?.refused = token
        return .renew(token)
    }

    /// Records a login for which there were no credentials.
    mutating func loginWithoutCredentials() {
        forget()
        countLogin()
    }

    /// Counts a login or renewal that failed before a request was sent.
    mutating func countLogin() { logins += 1 }

    // MARK: Requests and answers

    /// Reads the user's own record. Every account may send this request, even if the answer hides the record.
    private var ownRecord: ServiceNowCall {
        let name = login.asksForUser ? "javascript:gs.getUserName()" : EncodedQuery.escaped(login.identity.text)
        return .table(
            "sys_user",
            [
                ("sysparm_query", "user_name=" + name), ("sysparm_fields", "name,email,sys_id,user_name"), ("sysparm_limit", "1"),
            ], expecting: .rows)
    }

    private mutating func send(_ call: ServiceNowCall, at now: Timestamp) -> Step {
        .send(httpRequest(call, at: now), changesSomething: call.changesSomething)
    }

    /// The request with this session's cookies and credentials.
    private mutating func httpRequest(_ call: ServiceNowCall, at now: Timestamp) -> HTTPRequest {
        let call = call.inBatch(beyond: longestAddress, inAdvance: batchesInAdvance) ?? call
        let address = base.with(target: call.target)
        var request = HTTPRequest(
            call.method, address, headers: ["Accept": "application/json"], body: call.file?.bytes ?? call.body?.encoded(),
            timeout: call.timeout, notAfter: call.notAfter)
        for field in call.headers.fields { request.headers[field.name] = field.value }
        if call.body != nil { request.headers["Content-Type"] = "application/json" }
        if let file = call.file { request.headers["Content-Type"] = file.type }
        if let cookies = jar.header(for: address, at: now) { request.headers["Cookie"] = cookies }
        for field in authHeaders.fields { request.headers[field.name] = field.value }
        if let csrfToken { request.headers["X-UserToken"] = csrfToken }
        return request
    }

    /// Stores an answer's cookies and classifies it; nil if the call must be sent again, now in a batch or without one.
    private mutating func read(
        _ response: HTTPResponse, to call: ServiceNowCall, at now: Timestamp
    ) -> (HTTPResponse, Classification)? {
        let batch = call.inBatch(beyond: longestAddress, inAdvance: batchesInAdvance)
        let sent = batch ?? call
        let address = base.with(target: sent.target)
        jar.store(response.headers, from: address, at: now)
        let meaning = Classification(response, to: address, expecting: sent.expecting, at: now)
        if opens, response.isSuccess, jar.header(for: base, at: now) != nil { (authHeaders, opens) = ([:], false) }
        if batch != nil {
            guard case .ok(let json) = meaning else {
                let refusal = meaning.ofBatch(response.status)
                // Perhaps the address passes as it is.
                if case .noBatch = refusal, call.target.utf8.count <= longestAddress {
                    batchesInAdvance = false
                    return nil
                }
                return (response, refusal)
            }
            guard let inner = ServiceNowCall.reply(in: json, headers: response.headers) else { return (response, .dropped) }
            return (inner, Classification(inner, to: base.with(target: call.target), expecting: call.expecting, at: now))
        }
        guard meaning == .tooLong, call.canBeInBatch else { return (response, meaning) }
        // A proxy or the server accepts only shorter addresses: from now on, requests of this length are sent in a batch.
        longestAddress = min(longestAddress, call.target.utf8.count - 1)
        return nil
    }

    /// The page's address for messages, without its query.
    private func page(_ call: ServiceNowCall) -> String { "The page \(base.place)\(call.target.prefix { $0 != "?" })" }

    private func failure(of meaning: Classification, at place: String, changesSomething: Bool) -> Failure {
        switch meaning {
        case .loginRequired(let host): return login.loginPage(at: base.place, on: host)
        case .sessionExpired: return login.loginPage(at: base.place, on: nil)
        default: break
        }
        guard let failure = meaning.failure(of: place, changesSomething: changesSomething) else {
            preconditionFailure("every other classification is a failure")
        }
        return failure
    }
}
