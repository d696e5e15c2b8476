public import BellhopCore

extension WebConnection {
    public var oauth: OAuthClient? { if case .oauth(let client) = auth { client } else { nil } }

    /// How these settings log in.
    static func loginMethod(_ settings: Settings) -> LoginMethod {
        guard let auth = settings.record("auth") else { return .none("it has no `auth` in bellhop.yaml, so it is anonymous") }
        return OAuthSettings.needsAuthorization(auth) ? .browser : .configured
    }

    /// Asks the token endpoint if there is one, then requests an address of the sources, or the base address, with and without
    /// credentials: if both get the same answer, the login is not proved.
    public func verifyLogin(_ needs: ConnectionNeeds) async throws(Failure) -> LoginTrial {
        if let oauth { _ = try await oauth.authorization(force: true) }
        let user = username.isEmpty ? nil : username
        var doubt = ""
        for request in candidates(needs) {
            let proof: WebProof
            do throws(Failure) {
                proof = try await self.proof(by: request).proof
            } catch {
                let stays: [Failure.Reason] = [.goneOrHidden, .forbidden, .refused, .badAnswer, .serverError, .unexpectedPage]
                guard stays.contains(error.reason) else { throw error }
                if doubt.isEmpty { doubt = error.message }
                continue
            }
            switch proof {
            case .known: return LoginTrial(user: user)
            case .anybody: doubt = "\(base.place) answers the same without credentials."
            case .unclear(let failure): if doubt.isEmpty { doubt = failure.message }
            }
        }
        let known = oauth == nil ? "" : "The token endpoint gave a token. "
        return LoginTrial(user: user, doubt: known + "Whether the API accepts the login is unknown: \(doubt)")
    }

    /// Addresses to try a login on: of read-only sources, and the base address.
    private func candidates(_ needs: ConnectionNeeds) -> [HTTPRequest] {
        let probes = needs.sources.prefix(3).compactMap { probed($0)?.probe }
        return probes + [HTTPRequest(base, headers: ["Accept": "application/json, */*;q=0.5"])]
    }

    /// A source that can be probed; nil if it cannot be made.
    func probed(_ need: ConnectionNeeds.SourceNeed) -> (any ProbedSource)? {
        (try? source(need.name, kind: need.kind, settings: need.settings)) as? any ProbedSource
    }

    /// Requests with credentials, and if that succeeds, without.
    func proof(by request: HTTPRequest) async throws(Failure) -> (proof: WebProof, response: HTTPResponse) {
        let response = try await session.read(request, expecting: .success).response
        do throws(Failure) {
            _ = try await stranger.read(request, expecting: .success)
            return (.anybody, response)
        } catch {
            switch error.reason {
            case .unauthenticated, .forbidden, .goneOrHidden, .refused: return (.known, response)
            default: return (.unclear(error), response)
            }
        }
    }
}

/// The result of requests with and without a login.
enum WebProof: Sendable, Hashable {
    /// Without the login the request is refused.
    case known
    /// The answer is the same without the login.
    case anybody
    case unclear(Failure)
}
