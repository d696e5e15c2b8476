import BellhopCore
import Crypto

/// How a connection gets its tokens: the checked `oauth` settings of bellhop.yaml. Never prints them.
public struct OAuthSettings: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A grant's name in bellhop.yaml.
    public enum GrantName: String, Sendable, Hashable, CaseIterable {
        case password
        case refreshToken = "refresh_token"
        case clientCredentials = "client_credentials"
        case jwt
        case authorizationCode = "authorization_code"
    }

    /// What is sent to the token endpoint.
    public enum Grant: Sendable {
        case password(username: String, password: String)
        /// The first refresh token; later ones are kept in the keychain.
        case refreshToken(String)
        case clientCredentials
        case jwt(JWTAssertion)
        /// A person authorizes once in a browser: `bellhop login`.
        case authorizationCode(page: HTTPAddress, redirect: HTTPAddress)

        public var name: GrantName {
            switch self {
            case .password: .password
            case .refreshToken: .refreshToken
            case .clientCredentials: .clientCredentials
            case .jwt: .jwt
            case .authorizationCode: .authorizationCode
            }
        }
    }

    public var grant: Grant
    public var clientID: String
    public var clientSecret: String?
    /// Whether the client sends its secret as Basic authentication instead of in the form.
    public var secretInHeader: Bool
    public var scope: String?
    /// Further fields of the form.
    public var parameters: [(name: String, value: String)]
    public var tokenAddress: HTTPAddress

    /// The user's name, if the grant has it.
    public var username: String? {
        switch grant {
        case .password(let username, _): username
        case .jwt(let assertion): assertion.subject
        case .refreshToken, .clientCredentials, .authorizationCode: nil
        }
    }

    /// Whether tokens must survive a restart, because bellhop.yaml has nothing to get new ones.
    public var needsKeeping: Bool {
        switch grant {
        case .refreshToken, .authorizationCode: true
        case .password, .clientCredentials, .jwt: false
        }
    }

    /// Everything that must not be shown.
    var secrets: [String] {
        var secrets = [clientSecret].compactMap(\.self) + parameters.map(\.value)
        switch grant {
        case .password(_, let password): secrets.append(password)
        case .refreshToken(let token): secrets.append(token)
        case .clientCredentials, .jwt, .authorizationCode: break
        }
        return secrets
    }

    /// What stored tokens belong to: a digest of the client, its endpoint and the refresh token in bellhop.yaml.
    var origin: String {
        var facts = [tokenAddress.text, clientID, grant.name.rawValue]
        if case .refreshToken(let first) = grant { facts.append(first) }
        let digest = SHA256.hash(data: Array(facts.joined(separator: "\u{0}").utf8))
        return Base64URL.encode(Array(digest).prefix(15))
    }

    public var description: String { "OAuthSettings(\(grant.name.rawValue))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["grant": grant.name.rawValue]) }
}
