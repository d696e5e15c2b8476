import BellhopCore

/// Checks whether an API allows everything that the configured sources and the loaded rules need. Sends only `GET` requests.
struct WebExamination {
    let connection: WebConnection
    let needs: ConnectionNeeds
    private var reading: [Finding] = []
    private var login: Finding?

    init(_ connection: WebConnection, _ needs: ConnectionNeeds) { (self.connection, self.needs) = (connection, needs) }

    mutating func run() async -> [Finding] {
        var findings: [Finding] = []
        if let oauth = connection.oauth {
            do throws(Failure) {
                _ = try await oauth.authorization()
                findings.append(Finding("token", .ok, "\(oauth.settings.tokenAddress.place) gives one"))
            } catch {
                return [Finding("token", error)]
            }
        }
        for source in needs.sources {
            await examine(source)
            if login?.state == .missing { break }
        }
        if login == nil { await tryBase() }
        if let login { findings.append(login) }
        let reported = connection.watch.latest
        if login?.state != .missing || reported.time != nil {
            findings.append(.clock(reported.time, here: connection.clock.now, server: "the server"))
        }
        if login?.state == .missing { return findings }
        findings += reading + actions
        if let limit = Finding.limit(reported.limit, server: "the server") { findings.append(limit) }
        return findings
    }

    private var hasLogin: Bool { connection.auth.hasCredentials }

    private mutating func examine(_ need: ConnectionNeeds.SourceNeed) async {
        let subject = "read \(need.name)"
        guard let source = connection.probed(need) else { return }
        guard let probe = source.probe else {
            let text = "its method is not GET, so it was not tried"
            return reading.append(
                Finding(
                    subject, .unknown, text,
                    remedy: "`bellhop query \(need.name)` tries it; run it only if the request changes no data"))
        }
        do throws(Failure) {
            let response: HTTPResponse
            if hasLogin, login == nil {
                let (proof, answer) = try await connection.proof(by: probe)
                response = answer
                judge(proof, at: "the address of source \(need.name)")
            } else {
                response = try await connection.session.read(probe).response
            }
            reading.append(Finding(subject, .ok, try source.words(for: response)))
        } catch {
            if error.reason == .unauthenticated, hasLogin {
                login = refused(error)
            } else {
                reading.append(Finding(subject, error, remedy: Self.remedy(error.reason)))
            }
        }
    }

    private static func remedy(_ reason: Failure.Reason) -> String? {
        switch reason {
        case .goneOrHidden: "check `path`, and that the account may read it"
        case .forbidden: "let the account read it"
        case .unauthenticated: "it needs a login: set `auth` on the connection"
        case .badAnswer: "check `items` and `id`"
        default: nil
        }
    }

    /// Tries the base address if no source could test the login.
    private mutating func tryBase() async {
        guard hasLogin else { return login = Finding("login", .ok, "none: no `auth` in bellhop.yaml") }
        do throws(Failure) {
            let request = HTTPRequest(connection.base, headers: ["Accept": "application/json, */*;q=0.5"])
            judge(try await connection.proof(by: request).proof, at: "the base address")
        } catch {
            login =
                error.reason == .unauthenticated
                ? refused(error) : Finding("login", .unknown, "it is unknown whether it is accepted: \(error.message)")
        }
    }

    private mutating func judge(_ proof: WebProof, at place: String) {
        switch proof {
        case .accepted: login = Finding("login", .ok, "accepted: without it \(place) is refused")
        case .notNeeded:
            login = Finding("login", .unknown, "\(place) is public, so it does not show whether the login is accepted")
        case .unclear(let failure): login = Finding("login", .unknown, "it is unknown whether it is accepted: \(failure.message)")
        }
    }

    private func refused(_ failure: Failure) -> Finding {
        Finding("login", failure, remedy: "check `auth` of the connection; `bellhop login \(connection.name)` tries it again")
    }

    private var actions: [Finding] {
        needs.actions.map { need in
            let method = need.constants["method"]?.asString ?? "POST"
            return Finding("send \(method)", .unknown, "rule \(need.rule): whether it is accepted cannot be checked in advance")
        }
    }
}
