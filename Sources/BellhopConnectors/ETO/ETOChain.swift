import BellhopCore

/// The requests of a login to ETO: authenticate, list the enterprises, list the sites, enter a site. The last returns the token for all
/// other requests.
///
/// The addresses of these requests contain tokens, so messages name only the host. The answer to a password contains the password,
/// so it is never quoted.
struct ETOChain: Sendable {
    var base: HTTPAddress
    var exchange: any HTTPExchange
    /// The connection's name, for messages.
    var connection: String
    var clock: any AgentClock

    private var place: String { base.place }

    /// The result of the first step, with the values that later messages must not contain.
    struct Ticket: Sendable {
        var token: String
        fileprivate var password: String

        var secrets: [String] { [token, password] }
    }

    /// The token of the first step. The services answer 200 to a wrong password too, with a token of zeros.
    func authenticate(_ credentials: Credentials) async throws(Failure) -> Ticket {
        let body: JSON = ["security": ["Email": .string(credentials.username), "Password": .string(credentials.password)]]
        let address = base.with(target: "/API/Security.svc/SSOAuthenticate/")
        let response = try await exchange.send(
            HTTPRequest("POST", address, headers: Self.headers, body: body.encoded()), changesSomething: false)
        // Without the body, which contains the password.
        try ETOAnswer(HTTPResponse(status: response.status, headers: response.headers), to: address, secrets: [], at: clock.now)
            .reply(from: place)
        guard let result = (try? JSON.parse(response.body))?["SSOAuthenticateResult"],
            let token = result["SSOAuthToken"]?.asString,
            GUID.isGUID(token)
        else { throw Failure.badAnswer("\(place) did not answer with a login result.") }
        let code = result["AuthStatusCode"]?.asInt
        guard token != GUID.zero, code == 0 else {
            let number = code.map { $0 == 0 ? "" : " (status \($0))" } ?? ""
            throw Failure(
                .unauthenticated, .pauseConnection,
                "\(place) refuses the password of \(credentials.username)\(number)."
                    + credentials.advice(connection: connection))
        }
        return Ticket(token: token, password: credentials.password)
    }

    func enterprises(_ ticket: Ticket) async throws(Failure) -> [ETOChoice] {
        try choices(await get("GetSSOEnterprises/\(ticket.token)", secrets: ticket.secrets), "enterprises", isKey: GUID.isGUID)
    }

    func sites(_ ticket: Ticket, of enterprise: ETOChoice) async throws(Failure) -> [ETOChoice] {
        try choices(
            await get("GetSSOSites/\(ticket.token)/\(enterprise.key)", secrets: ticket.secrets + [enterprise.key]), "sites",
            isKey: { Int64($0) != nil })
    }

    /// The token that every later request carries.
    func enter(_ site: ETOChoice, of enterprise: ETOChoice, _ ticket: Ticket, offset: Int) async throws(Failure) -> String {
        let secrets = ticket.secrets + [enterprise.key]
        let reply = try await get("SSOSiteLogin/\(site.key)/\(enterprise.key)/\(ticket.token)/\(offset)", secrets: secrets)
        guard let security = (try? JSON.parse(reply.body))?.asString, !security.isEmpty, HeaderFields.isValue(security) else {
            throw Failure.badAnswer("\(place) did not answer the site login with a token.")
        }
        guard security != GUID.zero else {
            throw Failure(
                .forbidden, .pauseConnection, "\(place) does not let this account into the site \(site.name) (\(site.key)).")
        }
        return security
    }

    /// The choice that the configuration names by its key or name; without one, the only choice.
    /// - Parameter namedBy: the source or step that names it, for messages; nil for the connection.
    func choose(
        _ wanted: String?, from choices: [ETOChoice], _ setting: String, namedBy: String? = nil
    ) throws(Failure) -> ETOChoice {
        func offered() -> String {
            let names = choices.prefix(20).map { Redaction.excerpt(DisplayText.line(GUID.masked($0.name)), length: 60) }
            return choices.isEmpty ? "it has none" : "the choices are \(names.joined(separator: ", "))"
        }
        guard let wanted else {
            if choices.count == 1 { return choices[0] }
            throw Failure(
                .forbidden, .pauseConnection,
                "The connection \(connection) needs `\(setting)`: \(offered()). `bellhop login \(connection)` lists them to choose from."
            )
        }
        func same(_ left: String) -> Bool { ASCII.equalIgnoringCase(ASCII.trimmed(left), ASCII.trimmed(wanted)) }
        if let choice = choices.first(where: { same($0.key) }) { return choice }
        let named = choices.filter { same($0.name) }
        if named.count == 1 { return named[0] }
        if let namedBy {
            let shown = Redaction.excerpt(DisplayText.line(GUID.masked(wanted)), length: 60)
            throw Failure.badArguments(
                named.isEmpty
                    ? "This account has no `\(setting)` called `\(shown)`, which \(namedBy) names; \(offered())."
                    : "There are \(named.count) called `\(shown)`, which \(namedBy) names: give `\(setting)` by its number.")
        }
        throw Failure(
            .forbidden, .pauseConnection,
            named.isEmpty
                ? "This account does not have the `\(setting)` that the connection \(connection) names; \(offered())."
                : "There are \(named.count) of that name: give `\(setting)` by its key; `bellhop login \(connection)` lists them."
        )
    }

    private func choices(_ reply: ETOReply, _ what: String, isKey: (String) -> Bool) throws(Failure) -> [ETOChoice] {
        let json = try reply.json(from: place)
        if json.isNull { return [] }
        guard let items = json.asArray else { throw Failure.badAnswer("\(place) did not answer with a list of \(what).") }
        return try items.map { item throws(Failure) in
            guard let choice = ETOChoice(item), isKey(choice.key) else {
                throw Failure.badAnswer("\(place) sent a list of \(what) with an invalid key.")
            }
            return choice
        }
    }

    private func get(_ path: String, secrets: [String]) async throws(Failure) -> ETOReply {
        let address = base.with(target: "/API/Security.svc/" + path)
        let response = try await exchange.send(HTTPRequest("GET", address, headers: Self.headers), changesSomething: false)
        return try ETOAnswer(response, to: address, secrets: secrets, at: clock.now).reply(from: place)
    }

    static let headers: HeaderFields = ["Accept": "application/json", "Content-Type": "application/json"]
}
