import BellhopCore
import BellhopTesting
import Crypto
import CryptoExtras
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct AssertionTests {
    let practice = Practice()

    /// Generated once, because it takes seconds.
    private static let rsa = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    private static func pair(_ algorithm: String) throws -> (secret: String, open: String) {
        switch algorithm {
        case "ES256":
            let key = P256.Signing.PrivateKey()
            return (key.pemRepresentation, key.publicKey.pemRepresentation)
        case "ES384":
            let key = P384.Signing.PrivateKey()
            return (key.pemRepresentation, key.publicKey.pemRepresentation)
        case "ES512":
            let key = P521.Signing.PrivateKey()
            return (key.pemRepresentation, key.publicKey.pemRepresentation)
        default:
            let key = try rsa.get()
            return (key.pkcs8PEMRepresentation, key.publicKey.pemRepresentation)
        }
    }

    @Test(arguments: ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512"])
    func `an assertion is signed anew for each request`(_ algorithm: String) async throws {
        let (secret, open) = try Self.pair(algorithm)
        let key = try SigningKey(pem: secret, algorithm: #require(SigningKey.Algorithm(rawValue: algorithm)), from: "key.pem")
        practice.instance.addClient("bellhop") { $0.publicKey = open }
        let address = try await practice.simulation.serve()
        let assertion = JWTAssertion(key: key, keyID: "k1", issuer: "bellhop", audience: "bellhop", subject: "john.doe")
        let settings = OAuthSettings(
            grant: .jwt(assertion), clientID: "bellhop", clientSecret: "client-secret", secretInHeader: false, scope: nil,
            parameters: [], tokenAddress: try HTTPAddress(address + "/oauth_token.do"))
        for _ in 1...2 {  // the second after a restart
            let exchange = try HTTPConnection(.init(name: "snow"), clock: practice.clock)
            let client = OAuthClient(settings, connection: "snow", exchange: exchange, environment: practice.environment())
            _ = try await client.authorization()
        }
        #expect(practice.instance.counts.tokensRefused == 0)
        let assertions = practice.simulation.requests.all.flatMap(\.form).filter { $0.name == "assertion" }.map(\.value)
        #expect(Set(assertions).count == 2)
    }

    @Test func `an assertion that was refused while the clock was wrong is sent again`() async throws {
        let (secret, open) = try Self.pair("ES256")
        let key = try SigningKey(pem: secret, algorithm: .es256, from: "key.pem")
        practice.instance.addClient("bellhop") { $0.publicKey = open }
        let clock = TestClock()
        await clock.advance(by: .seconds(7200))
        var environment = practice.environment()
        environment.clock = clock
        let address = try await practice.simulation.serve()
        let assertion = JWTAssertion(key: key, keyID: nil, issuer: "bellhop", audience: "bellhop", subject: "john.doe")
        let settings = OAuthSettings(
            grant: .jwt(assertion), clientID: "bellhop", clientSecret: "client-secret", secretInHeader: false, scope: nil,
            parameters: [], tokenAddress: try HTTPAddress(address + "/oauth_token.do"))
        let exchange = try HTTPConnection(.init(name: "snow"), clock: clock)
        let client = OAuthClient(settings, connection: "snow", exchange: exchange, environment: environment)
        let failure = await failure { _ = try await client.authorization() }
        #expect(failure?.remedy == .retry(after: .seconds(300)))
        #expect(failure?.message.contains("this machine's clock is 7200 s ahead of the server's") == true)
        await practice.clock.advance(by: .seconds(7200))
        _ = try await client.authorization()
        #expect(practice.notebook.all.isEmpty)
    }

    @Test func `an invalid, wrong, encrypted or missing key is reported without its contents`() throws {
        let (secret, _) = try Self.pair("ES256")
        let problems = [
            ("ES384", secret), ("RS256", secret), ("ES256", "canary"), ("ES256", "-----BEGIN ENCRYPTED PRIVATE KEY-----"),
        ]
        for (algorithm, pem) in problems {
            let algorithm = try #require(SigningKey.Algorithm(rawValue: algorithm))
            #expect { try SigningKey(pem: pem, algorithm: algorithm, from: "key.pem") } throws: { error in
                let message = (error as? InvalidValue)?.message ?? ""
                return message.contains("key.pem") && !message.contains("canary") && !message.contains("BEGIN")
            }
        }
        #expect { try SigningKey(pemFile: "/nowhere/key.pem", algorithm: .es256) } throws: {
            ($0 as? InvalidValue)?.message == "The key /nowhere/key.pem cannot be read: No such file or directory."
        }
    }
}
