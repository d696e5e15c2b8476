import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopTesting
import Testing

@Suite struct KeychainTokenTests {
    @Test func `stored tokens can be read back beside logins, by their owner only`() async throws {
        let folder = try TemporaryFolder()
        let keychain = Keychain(path: folder.path + "/keychain.json")
        try keychain.setLogin("snow", to: .init(username: "john.doe", password: "p"))
        let tokens = StoredTokens(
            access: "a", expires: Timestamp(seconds: 1_800_000_000), refresh: "r", username: "john.doe", origin: "o", mark: "7f")
        try keychain.setTokens("snow", to: tokens)
        let bare = StoredTokens(refresh: "r2", origin: "o")
        try await keychain.keep(bare, of: "other")
        #expect(try await keychain.tokens(of: "snow") == tokens)
        #expect(try await keychain.tokens(of: "other") == bare)
        #expect(try await keychain.tokens(of: "nobody") == nil)
        #expect(try keychain.login("snow")?.username == "john.doe")
        #expect(try folder.mode("keychain.json") == 0o600)
        try keychain.setTokens("snow", to: nil)
        #expect(try await keychain.tokens(of: "snow") == nil)
        #expect(try await keychain.tokens(of: "other") == bare)
    }

    @Test func `tokens that an agent renews do not replace those of a login meanwhile, or undo a logout`() async throws {
        let folder = try TemporaryFolder()
        let keychain = Keychain(path: folder.path + "/keychain.json")
        try keychain.setTokens("snow", to: StoredTokens(refresh: "r1", username: "ada", origin: "o", mark: "7f"))
        let renewed = StoredTokens(refresh: "r2", username: "ada", origin: "o", mark: "7f")
        try await keychain.keep(renewed, of: "snow")
        #expect(try await keychain.tokens(of: "snow") == renewed)
        let other = StoredTokens(refresh: "b1", username: "bob", origin: "o", mark: "80")
        try keychain.setTokens("snow", to: other)
        try await keychain.keep(renewed, of: "snow")
        #expect(try await keychain.tokens(of: "snow") == other)
        #expect(try keychain.logOut(of: "snow"))
        try await keychain.keep(other, of: "snow")
        #expect(try await keychain.tokens(of: "snow") == nil)
    }
}
