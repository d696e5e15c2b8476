import BellhopCore

extension WebConnection {
    var oauth: OAuthClient? { if case .oauth(let client) = auth { client } else { nil } }

    static func loginMethod(_ settings: Settings) -> LoginMethod {
        guard let auth = settings.record("auth") else { return .none("it has no `auth` in bellhop.yaml, so it is anonymous") }
        return OAuthSettings.needsAuthorization(auth) ? .browser : .configured
    }

    /// Requests a token if there is a token endpoint, then an address of the sources, or the base address, with and without
    /// credentials. If both succeed, the login is not proved.
    func verifyLogin(_ needs: ConnectionNeeds) async throws(Failure) -> LoginTrial {
        if let oauth { _ = try await oauth.authorization(force: true) }
        let user = username.isEmpty ? nil : username
        var doubt = ""
        for request in candidates(needs) {
            let proof: WebProof
            do throws(Failure) {
                proof = try await self.proof(by: request).proof
            } catch {
                let ignored: [Failure.Reason] = [.goneOrHidden, .forbidden, .refused, .badAnswer, .serverError, .unexpectedPage]
                guard ignored.contains(error.reason) else { throw error }
                if doubt.isEmpty { doubt = error.message }
                continue
            }
            switch proof {
            case .accepted: return LoginTrial(user: user)
            case .notNeeded: doubt = "\(base.place) answers the same without credentials."
            case .unclear(let failure): if doubt.isEmpty { doubt = failure.message }
            }
        }
        let known = oauth == nil ? "" : "The token endpoint gave a token. "
        return LoginTrial(user: user, doubt: known + "Whether the API accepts the login is unknown: \(doubt)")
    }

    /// Requests that can prove a login: those of read-only sources, and the base address.
    private func candidates(_ needs: ConnectionNeeds) -> [HTTPRequest] {
        let probes = needs.sources.prefix(3).compactMap { probed($0)?.probe }
        return probes + [HTTPRequest(base, headers: ["Accept": "application/json, */*;q=0.5"])]
    }

    /// A source that can be probed; nil if it cannot be made.
    func probed(_ need: ConnectionNeeds.SourceNeed) -> (any ProbedSource)? {
        (try? source(need.name, kind: need.kind, settings: need.settings)) as? any ProbedSource
    }

    /// Sends a request with credentials and, if it succeeds, without them.
    func proof(by request: HTTPRequest) async throws(Failure) -> (proof: WebProof, response: HTTPResponse) {
        let response = try await session.read(request, expecting: .success).response
        do throws(Failure) {
            _ = try await anonymousSession.read(request, expecting: .success)
            return (.notNeeded, response)
        } catch {
            switch error.reason {
            case .unauthenticated, .forbidden, .goneOrHidden, .refused: return (.accepted, response)
            default: return (.unclear(error), response)
            }
        }
    }
}

/// The result of a request with and without a login.
enum WebProof: Sendable, Hashable {
    /// The request is refused without the login.
    case accepted
    /// The request succeeds without the login.
    case notNeeded
    case unclear(Failure)
}
