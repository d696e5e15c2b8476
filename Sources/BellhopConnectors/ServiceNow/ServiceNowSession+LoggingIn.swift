import BellhopCore

extension ServiceNowSession {
    /// Opens a session; one login per connection at a time. A refused token is renewed once, if possible.
    ///
    /// - Parameters:
    ///   - stale: the token whose session ended.
    ///   - force: a person requested it, so refused credentials are retried.
    @discardableResult
    func logIn(renewing stale: OAuthToken? = nil, force: Bool) async throws(Failure) -> ServiceNowUser {
        do {
            try await memory.gate.enter()
        } catch {
            throw Failure(.interrupted, .retry(after: nil), "The login was cancelled before it started.")
        }
        defer { memory.gate.leave() }
        var pass = try await self.pass(renewing: stale, force: force)
        if !force { try await checkRefusals(of: pass.credentials) }
        forgetSession()
        logins += 1
        var mayRenew = login.oauth != nil && stale == nil
        var shown = stale
        while true {
            do throws(Failure) {
                let user = try await introduce(pass, refused: shown)
                self.user = user
                token = pass.token
                await events.loginEnded(name, logins, at: clock.now)
                try await RefusalMemory.noting { try await memory.forget() }
                return user
            } catch {
                guard user == nil else { throw error }  // the login succeeded; only storing it failed
                forgetSession()
                let isRefusal = [.unauthenticated, .loginRequired, .sessionExpired].contains(error.reason)
                if mayRenew, isRefusal, let token = pass.token {
                    mayRenew = false
                    shown = token
                    pass = try await self.pass(renewing: token, force: force)
                    continue
                }
                await events.loginEnded(name, logins, failure: error, at: clock.now)
                // Only passwords are blocked after a refusal: retrying a token locks nobody out.
                if login.oauth == nil, error.reason == .unauthenticated || error.reason == .mfaRequired {
                    try await RefusalMemory.noting { try await memory.remember(error.message, of: pass.credentials) }
                }
                throw error
            }
        }
    }

    /// The credentials to send. A failed token request is a failed login.
    private func pass(renewing stale: OAuthToken?, force: Bool) async throws(Failure) -> ServiceNowLogin.Pass {
        let before = await login.oauth?.asked ?? 0
        do throws(Failure) {
            return try await login.pass(renewing: stale, force: force)
        } catch {
            if let client = login.oauth, await client.asked > before {
                forgetSession()
                logins += 1
                await events.loginEnded(name, logins, failure: error, at: clock.now)
            }
            throw error
        }
    }

    /// The user's own record, which every account may request, whatever it may see of it.
    var ownRecord: ServiceNowCall {
        let name = login.asksForUser ? "javascript:gs.getUserName()" : login.identity.text.replacing("^", with: "^^")
        return .table(
            "sys_user",
            [
                ("sysparm_query", "user_name=" + name), ("sysparm_fields", "name,email,sys_id,user_name"), ("sysparm_limit", "1"),
            ],
            expecting: .rows)
    }

    /// Requests the user's own record as the login: it opens the session and shows whether the server accepts the credentials.
    private func introduce(_ pass: ServiceNowLogin.Pass, refused: OAuthToken?) async throws(Failure) -> ServiceNowUser {
        proof = pass.headers
        let (_, meaning) = try await transmit(ownRecord)
        var user = ServiceNowUser(username: login.identity.text)
        switch meaning {
        case .ok(let body):
            if let row = body["result"]?[0], let username = row["user_name"]?.asString,
                login.asksForUser ? !username.isEmpty : username == login.identity.text
            {
                if login.asksForUser { try await recognise(username) }
                user = ServiceNowUser(
                    username: username, name: row["name"]?.asString ?? "", email: row["email"]?.asString ?? "",
                    sysID: row["sys_id"]?.asString ?? "")
            }
        // An account that may not read its own record has logged in all the same.
        case .noRows, .forbidden, .goneOrHidden: break
        case .unauthenticated:
            if let token = pass.token, token.text == refused?.text {
                throw login.sameToken(at: base.place, token, at: clock.now)
            }
            throw login.refusal(at: base.place)
        case .mfaRequired:
            throw Failure(
                .mfaRequired, .pauseConnection,
                "\(base.place) requires a second factor of \(login.identity.text), which an unattended program cannot give: "
                    + "use an account for integrations, or run `bellhop login \(login.connection)` once it needs none.")
        default: throw failure(of: meaning, at: base.place, changesSomething: false)
        }
        events.user = user.username
        if !login.isShownAlways, jar.header(for: base, at: clock.now) != nil { proof = [:] }
        return user
    }

    /// Checks that the instance recognizes the same user as before, or the one in bellhop.yaml.
    private func recognise(_ username: String) async throws(Failure) {
        switch login.identity {
        case .user(let known):
            guard ASCII.equalIgnoringCase(username, known) else {
                throw login.stranger(at: base.place, is: username, instead: known)
            }
        case .standIn:
            var known: String?
            try await RefusalMemory.noting { known = try await users.username() }
            if let known, !ASCII.equalIgnoringCase(username, known) {
                throw login.stranger(at: base.place, is: username, instead: known)
            }
            if known == nil { try await RefusalMemory.noting { try await users.remember(username) } }
        }
        await login.oauth?.note(user: username)
    }

    private func checkRefusals(of credentials: Credentials) async throws(Failure) {
        guard login.oauth == nil else { return }
        try await memory.check(credentials)
    }
}
