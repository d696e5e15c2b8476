import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopInbound
import Testing

@Suite struct `The console in bellhop.yaml` {
    private static func file(_ console: String) -> String {
        """
        version: 1
        console: \(console)
        connections: {snow: {kind: servicenow, instance: acme, auth: {basic: {username: a, password: b}}}}
        sources: {my-work: {kind: tracker, connection: snow}}
        """
    }

    private func problems(_ console: String) async throws -> [String] {
        try await ConfigurationTests().problems(Self.file(console))
    }

    @Test func `place, users, certificate and proxy are read`() async throws {
        let configuration = try await ConfigurationTests().load(
            Self.file(
                #"{listen: "0.0.0.0:8443", tls: {cert: tls/a.pem, key: tls/a.key}, public_url: "https://bellhop.example/", edit: true, users: [{name: ada, token: 0123456789abcdef, role: operator}, {name: bob, token: fedcba9876543210}]}"#
            )
        ).console
        #expect(configuration.place == .init(host: "0.0.0.0", port: 8443))
        #expect(
            configuration.tls?.certificate.hasSuffix("/tls/a.pem") == true && configuration.publicURL == "https://bellhop.example"
        )
        #expect(configuration.users.map(\.name) == ["ada", "bob"] && configuration.users.map(\.role) == [.operator, .viewer])
        #expect(configuration.mayEdit)
        #expect(try await ConfigurationTests().load(Self.file("{listen: \"127.0.0.1:1\"}")).console.users.isEmpty)
    }

    @Test func `a console that others could reach without encryption is refused`() async throws {
        for place in ["0.0.0.0:8090", "[::]:8090", "192.0.2.1:8090", "127.example:8090"] {
            #expect(try await problems("{listen: \"\(place)\"}").count == 1)
            #expect(try await problems("{listen: \"\(place)\", public_url: http://bellhop.example}").count == 1)
            #expect(try await problems("{listen: \"\(place)\", public_url: https://bellhop.example}") == [])
        }
        for place in ["127.0.0.1:8090", "127.1.2.3:8090", "[::1]:8090", "localhost:8090", "LOCALHOST:8090"] {
            #expect(try await problems("{listen: \"\(place)\"}") == [])
        }
    }

    @Test func `a proxy's address with a path, or none that browsers open, is refused`() async throws {
        func problems(_ address: String) async throws -> [String] {
            try await self.problems("{listen: \"127.0.0.1:1\", public_url: \"\(address)\"}")
        }
        for path in ["/bellhop", "/bellhop/", "/?console"] {
            let found = try await problems("https://example.com" + path)
            #expect(found.count == 1 && found.first?.contains("cannot have a path in `public_url`") == true, "\(found)")
        }
        for address in ["bellhop.example", "ftp://bellhop.example", "https://"] {
            #expect(try await problems(address).count == 1, "\(address)")
        }
        for address in ["https://bellhop.example:8443", "https://bellhop.example/"] {
            #expect(try await problems(address) == [], "\(address)")
        }
    }

    @Test func `invalid tokens, tokens and names shared by two users, and wrong roles are refused`() async throws {
        func users(_ users: String) async throws -> Int {
            try await problems("{listen: \"127.0.0.1:1\", users: [\(users)]}").count
        }
        #expect(try await users("{name: ada, token: short}") == 1)
        #expect(try await users("{name: ada, token: 0123456789abcdef}, {name: bob, token: 0123456789abcdef}") == 1)
        #expect(try await users("{name: ada, token: 0123456789abcdef}, {name: ada, token: fedcba9876543210}") == 1)
        #expect(try await users("{name: ada, token: 0123456789abcdef, role: boss}") == 1)
        for token in ["0123456789abcdef\\n", "0123456789\\nabcdefg", " 0123456789abcdef", "0123456789\\0abcdefg"] {
            #expect(try await users("{name: ada, token: \"\(token)\"}") == 1, "\(token)")
        }
        #expect(try await users("{name: ada, token: \"0123 4567 89ab cdef\"}") == 0)
        #expect(try await users("{name: ada, tokn: 0123456789abcdef}") >= 1)
    }

    @Test func `an OpenID provider is read, and a provider without roles or without encryption is refused`() async throws {
        func file(_ openid: String) -> String { "{listen: \"127.0.0.1:1\", openid: {client_id: b, \(openid)}}" }
        let configuration = try await ConfigurationTests().load(
            Self.file(file("issuer: \"https://login.example\", claim: a.b, operators: [x], admins: [y]"))
        ).console
        let openID = try #require(configuration.openID)
        #expect(openID.settings.issuer == "https://login.example" && openID.settings.nameClaim == "email")
        #expect(openID.role(of: ["a": ["b": ["y", "x"]]]) == .admin && openID.role(of: ["a": ["b": "x"]]) == .operator)
        #expect(openID.role(of: ["a": ["b": []]]) == nil && openID.role(of: ["a": "y"]) == nil)
        #expect(try await problems(file("issuer: \"https://login.example\"")).count == 1)
        #expect(try await problems(file("issuer: \"http://login.example\", viewers: [\"*\"]")).count == 1)
        #expect(try await problems(file("issuer: login, viewers: [\"*\"]")).count == 1)
        #expect(try await problems(file("issuer: \"http://127.0.0.1:1\", viewers: [\"*\"]")) == [])
    }

    @Test func `an address that the provider has not verified gives no role`() async throws {
        let openid =
            "{client_id: b, issuer: \"https://login.example\", claim: email, admins: [ada@example.com], viewers: [\"*\"]}"
        let console = try await ConfigurationTests().load(Self.file("{listen: \"127.0.0.1:1\", openid: \(openid)}")).console
        let openID = try #require(console.openID)
        for verified in [false, "false"] as [JSON] {
            #expect(openID.role(of: ["email": "ada@example.com", "email_verified": verified]) == .viewer)
        }
        #expect(openID.role(of: ["email": "ada@example.com", "email_verified": true]) == .admin)
        #expect(openID.role(of: ["email": "ada@example.com"]) == .admin)
    }
}
