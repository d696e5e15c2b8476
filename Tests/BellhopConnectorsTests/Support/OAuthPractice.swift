import BellhopCore
import Simulator
import Synchronization

@testable import BellhopConnectors

/// Stores tokens in memory; can be made to refuse writes.
final class MemoryTokenStorage: TokenStorage {
    struct Broken: Error {}

    private let kept = Mutex<[String: StoredTokens]>([:])
    private let isBroken = Mutex(false)

    func tokens(of connection: String) async throws -> StoredTokens? { kept.withLock { $0[connection] } }

    func keep(_ tokens: StoredTokens, of connection: String) async throws {
        if isBroken.withLock({ $0 }) { throw Broken() }
        kept.withLock { $0[connection] = tokens }
    }

    func refuseWriting(_ refuses: Bool = true) { isBroken.withLock { $0 = refuses } }

    var all: [String: StoredTokens] { kept.withLock { $0 } }
}

extension Practice {
    static let clientSecret = "canary-client-secret"

    func environment(_ storage: any TokenStorage = NoTokenStorage(), baseFolder: String = "") -> ConnectorEnvironment {
        ConnectorEnvironment(
            clock: clock, events: events, notebook: notebook, login: { _ in nil }, tokens: storage, baseFolder: baseFolder,
            output: { _ in }, random: { UInt64.random(in: .min ... .max) })
    }

    /// `oauth` settings of a client of the instance, which is added if it does not exist.
    func oauth(_ grant: String, _ more: JSON.Object = [:], edit: (inout SimulatedClient) -> Void = { _ in }) -> JSON.Object {
        instance.addClient("bellhop", secret: Self.clientSecret) { client in
            client.user = "john.doe"
            client.redirects = [OAuthSettings.defaultRedirect]
            edit(&client)
        }
        var settings: JSON.Object = [
            "grant": .string(grant), "client_id": "bellhop", "client_secret": .string(Self.clientSecret),
        ]
        if grant == "password" { (settings["username"], settings["password"]) = ("john.doe", "correct horse") }
        return JSON.Object(settings, with: more)
    }

    func client(
        _ address: String, _ settings: JSON.Object, storage: any TokenStorage = NoTokenStorage(),
        over exchange: (any HTTPExchange)? = nil
    ) throws -> OAuthClient {
        let base = try HTTPAddress(address)
        let endpoints = OAuthSettings.Endpoints(
            token: base.with(target: "/oauth_token.do"), page: base.with(target: "/oauth_auth.do"))
        let read = try OAuthSettings(Settings(settings), connection: "snow", at: "auth.oauth", defaults: endpoints) { $0 }
        let exchange = try exchange ?? HTTPConnection(.init(name: "snow"), clock: clock)
        return OAuthClient(read, connection: "snow", exchange: exchange, environment: environment(storage))
    }
}
