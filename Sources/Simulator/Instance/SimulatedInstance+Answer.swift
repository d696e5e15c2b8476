import BellhopCore

extension SimulatedInstance {
    /// The session of a request, by its cookies: its requests run one at a time.
    func session(of request: ReceivedRequest) -> Int? {
        change { state, now in state.sessions.find(request.cookies, at: now)?.number }
    }

    func noteQueued() { change { state, _ in state.counts.queued += 1 } }
    func noteDropped() { change { state, _ in state.counts.dropped += 1 } }

    /// Executes and answers a request, including login and session.
    func answer(_ request: ReceivedRequest, quirks: Set<Fault>) -> Reply {
        change { state, now in
            var reply = state.answer(request, quirks: quirks, at: now)
            reply.set("X-Transaction-ID", state.random.hex(12))
            reply.set("Server-Timing", "sem_wait;dur=0, sesh_wait;dur=0")
            reply.set("Cache-Control", "no-cache,no-store,must-revalidate,max-age=-1")
            return reply
        }
    }
}

/// A user's request, with the faults that change how it is handled.
struct InstanceCall: Sendable {
    var request: ReceivedRequest
    let user: SimulatedUser
    let quirks: Set<Fault>
    let now: Int64
}

extension SimulatedInstance.State {
    fileprivate mutating func answer(_ request: ReceivedRequest, quirks: Set<Fault>, at now: Int64) -> Reply {
        if let longest = settings.longestAddress, request.path.utf8.count + request.query.utf8.count + 1 > longest {
            return .html(414, FaultPages.addressTooLong)
        }
        var session = sessions.find(request.cookies, at: now)
        if quirks.contains(.sessionLost), let lost = session {
            sessions.close(lost.number)
            session = nil
        }
        if request.segments == ["oauth_token.do"] { return issueToken(request, quirks: quirks, at: now) }
        let isPage = self.isPage(request)
        if request.path == "/login.do", let page = page(request) { return page }
        let user: SimulatedUser
        let tokenEnds: Int64?
        switch identify(request, session: session, at: now) {
        case .success(let known): (user, tokenEnds) = known
        case .failure(let refusal):
            return isPage ? Reply(302).with("Location", "/login.do?sysparm_login_url=" + request.path) : refusal.reply
        }
        let number = session?.user == user.id ? session?.number : nil
        let own = number ?? openSession(for: user, tokenEnds: tokenEnds, at: now)
        let call = InstanceCall(request: request, user: user, quirks: quirks, now: now)
        var reply = forgeryRefusal(request, in: session) ?? route(call)
        if reply.status == 200, listsTasks(request), sessions.noteList(own) { counts.watchers += 1 }
        for cookie in sessions.cookies(for: own, at: now, settings: settings) { reply.add("Set-Cookie", cookie) }
        reply.set("X-Is-Logged-In", "true")
        reply.set("X-Is-Visitor", "false")
        return reply
    }

    private func listsTasks(_ request: ReceivedRequest) -> Bool {
        guard request.method == "GET" else { return false }
        let path = request.segments
        if path == ["api", "x_snc_my_work", "v1", "tracker", "task"] { return true }
        return path.starts(with: ["api", "now"]) && path.dropLast().last == "table" && Schema.isTask(path.last ?? "")
    }

    private mutating func openSession(for user: SimulatedUser, tokenEnds: Int64?, at now: Int64) -> Int {
        counts.logins += 1
        return sessions.open(for: user.id, tokenEnds: tokenEnds, at: now).number
    }

    /// The refusal of a write that has cookies, but neither credentials nor the session's token; nil if the write is allowed.
    private func forgeryRefusal(_ request: ReceivedRequest, in session: Sessions.Session?) -> Reply? {
        guard let session, settings.missingUserToken != .ignored, !["GET", "HEAD"].contains(request.method),
            request.header("Authorization") == nil, request.header("x-sn-apikey") == nil,
            request.header("X-UserToken") != session.userToken
        else { return nil }
        if settings.missingUserToken == .intercepted { return Reply(302).with("Location", "/security_interceptor.do") }
        return .notAuthenticated.with("X-UserToken-Response", session.userToken)
    }

    private mutating func identify(
        _ request: ReceivedRequest, session: Sessions.Session?, at now: Int64
    ) -> Result<(SimulatedUser, tokenEnds: Int64?), Refusal> {
        if let text = request.header("x-sn-apikey") {
            guard let key = tokens.keys[text], key.covers(request.path), let user = world.user(named: key.user), user.isActive
            else { return .failure(refusal(loginTried: true)) }
            return .success((user, nil))
        }
        if let text = request.bearerToken {
            guard let token = tokens.access(text, at: now), let user = world.users[token.user], user.isActive
            else { return .failure(refusal(loginTried: true)) }
            return .success((user, token.ends))
        }
        if request.header("Authorization") != nil {
            guard let (name, password) = request.basicCredentials else { return .failure(refusal(loginTried: true)) }
            let known = world.user(named: name)
            let key = known?.userName ?? name
            let isLocked = settings.lockOutAfter.map { failuresInARow[key, default: 0] >= $0 } ?? false
            guard !isLocked, let user = known, user.isActive, user.password == password else {
                failuresInARow[key, default: 0] += 1
                return .failure(refusal(loginTried: true))
            }
            failuresInARow[key] = nil
            return .success((user, nil))
        }
        if let session, let user = world.users[session.user], user.isActive { return .success((user, nil)) }
        return .failure(refusal(loginTried: false))
    }

    private mutating func refusal(loginTried: Bool) -> Refusal {
        if loginTried { counts.failedLogins += 1 } else { counts.loggedOut += 1 }
        let reply = Reply.notAuthenticated.with("WWW-Authenticate", "BASIC realm=\"Service-now\"")
        return Refusal(reply.with("X-Is-Logged-In", "false"))
    }

    mutating func route(_ call: InstanceCall) -> Reply {
        let request = call.request
        let path = request.segments
        if isPage(request) { return page(request) ?? .html(404, "<title>Page not found</title><h1>Page not found</h1>") }
        if path == ["oauth_auth.do"] { return authorize(request, by: call.user, at: call.now) }
        if let accept = request.header("Accept"), !["json", "*/*"].contains(where: accept.contains) {
            return .error(406, "Not acceptable", detail: "Simulator: only application/json is supported")
        }
        if path.starts(with: ["api", "x_snc_my_work", "v1", "tracker"]), settings.hasTracker {
            return tracker(Array(path.dropFirst(4)), call)
        }
        if path == ["api", "now", "v1", "batch"] || path == ["api", "now", "batch"] { return batch(call) }
        for prefix in [["api", "now", "stats"], ["api", "now", "v1", "stats"]] where path.starts(with: prefix) {
            return stats(Array(path.dropFirst(prefix.count)), call)
        }
        for prefix in [["api", "now", "table"], ["api", "now", "v1", "table"], ["api", "now", "v2", "table"]]
        where path.starts(with: prefix) {
            var reply = table(Array(path.dropFirst(prefix.count)), call, version: prefix[2])
            if let limit = settings.rateLimit { reply.set("X-RateLimit-Limit", String(limit)) }
            return reply
        }
        if path.starts(with: ["api", "now", "attachment"]) { return attachment(Array(path.dropFirst(3)), call) }
        return .noResource
    }
}
