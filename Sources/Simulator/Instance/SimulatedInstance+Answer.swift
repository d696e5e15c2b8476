extension SimulatedInstance {
    /// The session that a request belongs to, by its cookies: its requests run one at a time.
    func session(of request: ReceivedRequest) -> Int? {
        change { state, now in state.sessions.find(request.cookies, at: now)?.number }
    }

    func noteQueued() { change { state, _ in state.counts.queued += 1 } }
    func noteDropped() { change { state, _ in state.counts.dropped += 1 } }

    /// Does what the request asks and answers it, login and session included.
    func answer(_ request: ReceivedRequest, quirks: Set<Fault>) -> Reply {
        change { state, now in
            var reply = state.answer(request, quirks: quirks, at: now)
            reply.set("Date", CivilTime.http(now))
            reply.set("X-Transaction-ID", state.random.hex(12))
            reply.set("Server-Timing", "sem_wait;dur=0, sesh_wait;dur=0")
            reply.set("Cache-Control", "no-cache,no-store,must-revalidate,max-age=-1")
            return reply
        }
    }
}

extension SimulatedInstance.State {
    fileprivate mutating func answer(_ request: ReceivedRequest, quirks: Set<Fault>, at now: Int64) -> Reply {
        var session = sessions.find(request.cookies, at: now)
        if quirks.contains(.sessionLost), let lost = session {
            sessions.close(lost.number)
            session = nil
        }
        let user: SimulatedUser
        switch identify(request, session: session) {
        case .success(let known): user = known
        case .failure(let refusal): return refusal.reply
        }
        let number = session?.user == user.id ? session?.number : nil
        let own = number ?? openSession(for: user, at: now)
        var reply = route(request, user: user, quirks: quirks, at: now)
        for cookie in sessions.cookies(for: own, at: now, settings: settings) { reply.add("Set-Cookie", cookie) }
        reply.set("X-Is-Logged-In", "true")
        reply.set("X-Is-Visitor", "false")
        return reply
    }

    private mutating func openSession(for user: SimulatedUser, at now: Int64) -> Int {
        counts.logins += 1
        return sessions.open(for: user.id, at: now).number
    }

    private struct Refusal: Error { var reply: Reply }

    private mutating func identify(
        _ request: ReceivedRequest, session: Sessions.Session?
    ) -> Result<SimulatedUser, Refusal> {
        if let header = request.header("Authorization") {
            let parts = header.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "basic", let bytes = PercentCoding.decodeBase64(parts[1]) else {
                return .failure(refusal(loginTried: true))
            }
            let pair = String(decoding: bytes, as: UTF8.self).split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(pair[0])
            let isLocked = settings.lockOutAfter.map { failuresInARow[name, default: 0] >= $0 } ?? false
            guard pair.count == 2, !isLocked, let user = world.user(named: name), user.isActive, user.password == pair[1] else {
                failuresInARow[name, default: 0] += 1
                return .failure(refusal(loginTried: true))
            }
            failuresInARow[name] = nil
            return .success(user)
        }
        if let session, let user = world.users[session.user], user.isActive { return .success(user) }
        return .failure(refusal(loginTried: false))
    }

    private mutating func refusal(loginTried: Bool) -> Refusal {
        if loginTried { counts.failedLogins += 1 } else { counts.loggedOut += 1 }
        let reply = Reply.error(401, "User Not Authenticated", detail: "Required to provide Auth information")
            .with("WWW-Authenticate", "BASIC realm=\"Service-now\"").with("X-Is-Logged-In", "false")
        return Refusal(reply: reply)
    }

    private mutating func route(_ request: ReceivedRequest, user: SimulatedUser, quirks: Set<Fault>, at now: Int64) -> Reply {
        let path = request.segments
        if let accept = request.header("Accept"), !["json", "*/*"].contains(where: accept.contains) {
            return .error(406, "Not acceptable", detail: "Simulator: it speaks application/json only")
        }
        if path.starts(with: ["api", "x_snc_my_work", "v1", "tracker"]), settings.hasTracker {
            return tracker(Array(path.dropFirst(4)), request, user: user, quirks: quirks, at: now)
        }
        for prefix in [["api", "now", "table"], ["api", "now", "v1", "table"], ["api", "now", "v2", "table"]]
        where path.starts(with: prefix) {
            let target = Array(path.dropFirst(prefix.count))
            return table(target, request, version: prefix[2], user: user, quirks: quirks, at: now)
        }
        return .error(400, "Requested URI does not represent any resource", detail: nil)
    }
}
