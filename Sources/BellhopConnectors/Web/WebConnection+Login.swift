public import BellhopCore

extension WebConnection {
    public var oauth: OAuthClient? { if case .oauth(let client) = auth { client } else { nil } }

    /// How these settings log in.
    static func loginWay(_ settings: Settings) -> LoginWay {
        guard let auth = settings.record("auth") else { return .none("bellhop.yaml says no `auth` for it, so it asks as nobody") }
        return OAuthSettings.needsAgreement(auth) ? .agreed : .configured
    }

    /// Asks the token endpoint where there is one, then an address of the sources, or the base address, once as who we are and once as
    /// nobody: where both get the same, nothing shows that the login is taken.
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
            case .anybody: doubt = "\(base.place) answers the same to somebody who shows nothing."
            case .unclear(let failure): if doubt.isEmpty { doubt = failure.message }
            }
        }
        let known = oauth == nil ? "" : "The token endpoint gave a token. "
        return LoginTrial(user: user, doubt: known + "Whether the API takes the login cannot be told: \(doubt)")
    }

    /// Addresses to try a login on: of sources that only read, and the base address.
    private func candidates(_ needs: ConnectionNeeds) -> [HTTPRequest] {
        let probes = needs.sources.prefix(3).compactMap { probed($0)?.probe }
        return probes + [HTTPRequest(base, headers: ["Accept": "application/json, */*;q=0.5"])]
    }

    /// A source that is needed, as one that can be probed; nil for one that cannot be made.
    func probed(_ need: ConnectionNeeds.SourceNeed) -> (any ProbedSource)? {
        (try? source(need.name, kind: need.kind, settings: need.settings)) as? any ProbedSource
    }

    /// Asks as who we are, and where that is answered well as nobody.
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

/// What asking with and without a login showed.
enum WebProof: Sendable, Hashable {
    /// Without it nothing is to be had.
    case known
    /// Everybody gets the answer.
    case anybody
    case unclear(Failure)
}
