import BellhopCore
import Crypto

/// `/oauth_token.do` and `/oauth_auth.do`.
extension SimulatedInstance.State {
    /// The platform's answer to every wrong request.
    private static let denied = Reply.json(401, ["error_description": "access_denied", "error": "server_error"])

    private static let fields: Set<String> = [
        "grant_type", "client_id", "client_secret", "username", "password", "refresh_token", "scope", "code", "redirect_uri",
        "code_verifier", "assertion",
    ]

    mutating func issueToken(_ request: ReceivedRequest, quirks: Set<Fault>, at now: Int64) -> Reply {
        counts.tokenRequests += 1
        guard request.method == "POST" else { return .wrongMethod }
        guard request.header("Content-Type")?.hasPrefix("application/x-www-form-urlencoded") == true else {
            return .json(400, ["error": "invalid_request", "error_description": "Simulator: the body must be a form"])
        }
        guard request.query.isEmpty else {
            return .json(400, ["error": "invalid_request", "error_description": "Simulator: parameters belong in the body"])
        }
        var form: [String: String] = [:]
        for (name, value) in request.form {
            guard quirks.contains(.sloppyQueries) || Self.fields.contains(name), form[name] == nil else {
                return .json(
                    400, ["error": "invalid_request", "error_description": .string("Simulator: unknown field '\(name)'")])
            }
            form[name] = value
        }
        let reply = token(form, request, quirks: quirks, at: now)
        if reply.status == 401 { counts.tokensRefused += 1 }
        return reply
    }

    private mutating func token(
        _ form: [String: String], _ request: ReceivedRequest, quirks: Set<Fault>, at now: Int64
    ) -> Reply {
        guard let client = client(form, request) else { return Self.denied }
        let user: SimulatedUser?
        var next = true
        var isNew = false
        switch form["grant_type"] ?? "" {
        case "password" where client.grants.contains(.password):
            user = world.user(named: form["username"] ?? "").flatMap { $0.password == form["password"] ? $0 : nil }
        case "client_credentials" where client.grants.contains(.clientCredentials) && client.secret != nil:
            user = client.user.flatMap { world.user(named: $0) }
            next = false
        case "urn:ietf:params:oauth:grant-type:jwt-bearer" where client.grants.contains(.jwt):
            user = assertedUser(form["assertion"] ?? "", by: client, at: now)
        case "refresh_token" where client.grants.contains(.refreshToken):
            let old = form["refresh_token"] ?? ""
            guard let known = tokens.refresh[old], known.ends > now, known.client == client.id else { return Self.denied }
            user = world.users[known.user]
            isNew = !quirks.contains(.sameToken)
            if client.next == .other { tokens.endRefreshToken(old) }
            next = client.next != .none
        case "authorization_code" where client.grants.contains(.authorizationCode):
            user = authorizedUser(form, by: client, at: now)
        default: user = nil
        }
        guard let user, user.isActive else { return Self.denied }
        let access = tokens.accessToken(for: user.id, of: client, isNew: isNew, at: now)
        var members: JSON.Object = [
            "access_token": .string(access.text), "scope": "useraccount", "token_type": "Bearer",
            "expires_in": .int(max(0, (access.ends - now - 1) / CivilTime.second)),
        ]
        if next { members["refresh_token"] = .string(tokens.refreshToken(for: user.id, of: client, at: now).text) }
        return .json(200, .object(members))
    }

    /// The client, from the form or a Basic header; nil if its secret or the header is wrong.
    private func client(_ form: [String: String], _ request: ReceivedRequest) -> SimulatedClient? {
        var (id, secret) = (form["client_id"], form["client_secret"])
        if request.header("Authorization") != nil {
            guard secret == nil, let pair = request.basicCredentials else { return nil }
            id = PercentEncoding.decode(pair.name, plusIsSpace: true)
            secret = PercentEncoding.decode(pair.password, plusIsSpace: true)
        }
        guard let client = id.flatMap({ tokens.clients[$0] }), client.secret == secret else { return nil }
        return client
    }

    private mutating func assertedUser(_ assertion: String, by client: SimulatedClient, at now: Int64) -> SimulatedUser? {
        guard let key = client.publicKey, let claims = Assertion(assertion, publicKey: key) else { return nil }
        let seconds = now / CivilTime.second
        guard claims.issuer == client.id, claims.audience == client.id, claims.expires > seconds - 300,
            claims.expires <= seconds + 3600, !claims.id.isEmpty, tokens.noteAssertion(claims.id)
        else { return nil }
        return world.user(named: claims.subject)
    }

    private mutating func authorizedUser(_ form: [String: String], by client: SimulatedClient, at now: Int64) -> SimulatedUser? {
        guard let code = tokens.takeCode(form["code"] ?? "", at: now), code.client == client.id,
            code.redirect == form["redirect_uri"]
        else { return nil }
        if let challenge = code.challenge {
            let digest = Array(SHA256.hash(data: Array((form["code_verifier"] ?? "").utf8)))
            guard Base64URL.encode(digest) == challenge else { return nil }
        } else if client.secret == nil {
            return nil
        }
        return world.users[code.user]
    }

    /// The authorization page. A logged-in user grants access at once; a browser is asked for name and password.
    mutating func authorize(_ request: ReceivedRequest, by user: SimulatedUser, at now: Int64) -> Reply {
        let given = Dictionary(request.parameters.map { ($0.name, $0.value) }) { first, _ in first }
        guard request.method == "GET", given["response_type"] == "code",
            let client = given["client_id"].flatMap({ tokens.clients[$0] }), client.grants.contains(.authorizationCode),
            let redirect = given["redirect_uri"], client.redirects.contains(redirect),
            given["code_challenge"] == nil || given["code_challenge_method"] == "S256"
        else { return .html(400, FaultPages.invalidAuthorization) }
        let code = tokens.addCode(
            TokenStore.Code(
                client: client.id, user: user.id, redirect: redirect, challenge: given["code_challenge"],
                ends: now + 60 * CivilTime.second))
        let state = given["state"].map { "&state=" + PercentEncoding.encode($0) } ?? ""
        return Reply(302).with("Location", "\(redirect)?code=\(code)\(state)")
    }
}
