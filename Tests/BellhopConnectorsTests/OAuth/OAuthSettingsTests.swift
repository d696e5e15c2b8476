import BellhopCore
import Testing

@testable import BellhopConnectors

@Suite struct OAuthSettingsTests {
    private func problem(_ settings: JSON.Object, hasDefaults: Bool = true) -> ConnectorError? {
        let base = try? HTTPAddress("https://acme.service-now.com")
        let defaults = OAuthSettings.Endpoints(
            token: base?.with(target: "/oauth_token.do"), page: base?.with(target: "/oauth_auth.do"))
        do throws(ConnectorError) {
            _ = try OAuthSettings(
                Settings(settings), connection: "snow", at: "auth.oauth", defaults: hasDefaults ? defaults : .init()
            ) { $0 }
            return nil
        } catch { return error }
    }

    @Test(
        arguments: [
            (["grant": "password", "username": "a"], "password", "The grant password needs `password`."),
            (["grant": "refresh_token"], "refresh_token", "The grant refresh_token needs `refresh_token`."),
            (["grant": "client_credentials"], "client_secret", "The grant client_credentials needs `client_secret`."),
            (["grant": "jwt", "key": "k.pem"], "subject", "The grant jwt needs `subject`."),
            (
                ["grant": "authorization_code", "username": "a"], "username",
                "`username` belongs to the grant password, not to authorization_code."
            ),
            (
                ["grant": "client_credentials", "client_secret": "s", "key": "k.pem"], "key",
                "`key` belongs to the grant jwt, not to client_credentials."
            ),
            (
                ["grant": "password", "username": "a", "password": "b", "authorize_url": "https://x"], "authorize_url",
                "`authorize_url` belongs to the grant authorization_code, not to password."
            ),
            (
                ["grant": "authorization_code", "client_auth": "header"], "client_auth",
                "`client_auth: header` needs a `client_secret`."
            ),
            (
                ["grant": "authorization_code", "token_url": "https://x/t?client_secret=canary"], "token_url",
                "A token endpoint has no query or password; further fields go into `parameters`."
            ),
        ] as [(JSON.Object, String, String)])
    func `a missing or unknown setting of a grant is refused by name`(
        _ settings: JSON.Object, _ setting: String, _ message: String
    ) {
        var settings = settings
        settings["client_id"] = "bellhop"
        #expect(problem(settings) == ConnectorError(connection: "snow", setting: "auth.oauth.\(setting)", message))
    }

    @Test func `a system without an endpoint of its own needs one in the settings`() {
        let settings: JSON.Object = ["grant": "client_credentials", "client_id": "a", "client_secret": "b"]
        #expect(problem(settings) == nil)
        #expect(problem(settings, hasDefaults: false)?.message == "The grant client_credentials needs `token_url` here.")
    }
}
