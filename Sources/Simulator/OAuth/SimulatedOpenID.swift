public import BellhopCore
import Crypto
import Synchronization

/// An OpenID provider under `/openid`: discovery, an authorization page that grants access at once, and the token endpoint. Checks
/// the client's secret, PKCE and the redirect address, as a real provider does.
///
/// A class over a mutex, because requests arrive on several threads.
public final class SimulatedOpenID: Sendable {
    public enum Quirk: Sendable, Hashable, CaseIterable {
        case otherIssuer, otherAudience, otherNonce, expired, noToken, garbage, wrongDiscovery
    }

    private struct Code {
        var redirect: String
        var challenge: String
        var nonce: String
    }

    private struct State {
        var claims: [String: JSON] = ["email": "ada@example.com", "groups": ["staff"]]
        var quirk: Quirk?
        var codes: [String: Code] = [:]
        var last = 0
    }

    public static let client = (id: "bellhop", secret: "s3cret & more")
    private let state = Mutex(State())
    private let now: @Sendable () -> Int64

    init(now: @escaping @Sendable () -> Int64) { self.now = now }

    /// Sets the claims of the ID tokens, besides those of the protocol, such as the issuer.
    public func setClaims(_ claims: [String: JSON]) { state.withLock { $0.claims = claims } }

    public func setQuirk(_ quirk: Quirk?) { state.withLock { $0.quirk = quirk } }

    func answer(_ request: ReceivedRequest) -> Reply {
        let issuer = "http://\(request.header("Host") ?? "localhost")/openid"
        return state.withLock { state in
            switch request.segments.dropFirst().joined(separator: "/") {
            case ".well-known/openid-configuration":
                return .json(
                    200,
                    [
                        "issuer": .string(state.quirk == .wrongDiscovery ? issuer + "/" : issuer),
                        "authorization_endpoint": .string(issuer + "/authorize?tenant=acme"),
                        "token_endpoint": .string(issuer + "/token"),
                    ])
            case "authorize": return Self.authorize(request, &state)
            case "token": return Self.token(request, issuer, &state, at: now() / 1_000_000)
            default: return .text(404, "not found")
            }
        }
    }

    private static func authorize(_ request: ReceivedRequest, _ state: inout State) -> Reply {
        guard request.parameter("response_type") == "code", request.parameter("client_id") == client.id,
            request.parameter("tenant") == "acme", request.parameter("scope")?.split(separator: " ").contains("openid") == true,
            request.parameter("code_challenge_method") == "S256", let challenge = request.parameter("code_challenge"),
            let redirect = request.parameter("redirect_uri"), let nonce = request.parameter("nonce"),
            let returned = request.parameter("state")
        else { return .text(400, "invalid_request") }
        state.last += 1
        let code = "code-\(state.last)"
        state.codes[code] = Code(redirect: redirect, challenge: challenge, nonce: nonce)
        var reply = Reply(302)
        reply.set("Location", "\(redirect)?code=\(code)&state=\(returned)")
        return reply
    }

    private static func token(_ request: ReceivedRequest, _ issuer: String, _ state: inout State, at now: Int64) -> Reply {
        let form = request.formFields
        // RFC 6749, section 2.3.1: both parts are encoded.
        let secret = Base64.basic(username: "bellhop", password: "s3cret%20%26%20more")
        guard request.method == "POST", request.header("Authorization") == secret else {
            return .json(401, ["error": "invalid_client"])
        }
        guard let code = state.codes.removeValue(forKey: form["code"] ?? ""), form["redirect_uri"] == code.redirect,
            Base64URL.encode(Array(SHA256.hash(data: Array((form["code_verifier"] ?? "").utf8)))) == code.challenge
        else { return .json(400, ["error": "invalid_grant"]) }
        var claims = JSON.Object(state.claims.map { ($0.key, $0.value) })
        claims["iss"] = .string(state.quirk == .otherIssuer ? "https://evil.example" : issuer)
        claims["aud"] = state.quirk == .otherAudience ? ["another"] : [.string(client.id)]
        claims["nonce"] = .string(state.quirk == .otherNonce ? "another" : code.nonce)
        claims["exp"] = .int(state.quirk == .expired ? now - 3600 : now + 300)
        claims["sub"] = "1"
        func part(_ json: JSON) -> String { Base64URL.encode(json.encoded()) }
        let token = part(["alg": "RS256"]) + "." + part(.object(claims)) + "." + Base64URL.encode([1, 2, 3])
        switch state.quirk {
        case .noToken: return .json(200, ["access_token": "a", "token_type": "Bearer"])
        case .garbage: return .json(200, ["access_token": "a", "token_type": "Bearer", "id_token": "a.b.c"])
        default: return .json(200, ["access_token": "a", "token_type": "Bearer", "id_token": .string(token)])
        }
    }
}
