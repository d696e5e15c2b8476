import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct WebExaminationTests {
    let practice = WebPractice()
    static let auth: JSON.Object = ["auth": ["bearer": "t0ken"]]

    private static func source(_ name: String, _ settings: JSON.Object) -> ConnectionNeeds.SourceNeed {
        .init(name: name, kind: "rest", settings: Settings(settings), schema: TaskSchema([]))
    }

    static let list = source("issues", ["path": "list", "id": "id"])

    init() { practice.api.add("One") }

    private func examine(
        _ sources: [ConnectionNeeds.SourceNeed] = [list], actions: [ConnectionNeeds.ActionNeed] = [],
        _ settings: JSON.Object = auth
    ) async throws -> [String] {
        let needs = ConnectionNeeds(sources: sources, actions: actions)
        return try await practice.open(settings).examine(needs)
            .map { "\($0.state.rawValue) \($0.subject): \($0.text)" }
    }

    @Test func `a login is proved by a request that is refused without it, using only GET`() async throws {
        practice.api.requiredCredentials = .field("Authorization", "Bearer t0ken")
        let lines = try await examine(
            [Self.list, Self.source("found", ["method": "POST", "path": "search", "json": ["query": ""], "id": "id"])],
            actions: [.init(rule: "r", action: "rest", constants: ["method": "PUT"])])
        #expect(
            lines.dropFirst() == [
                "ok login: accepted: without it the address of source issues is refused", "ok clock: the clocks agree",
                "ok read issues: 1 item", "unknown read found: its method is not GET, so it was not tried",
                "unknown send PUT: rule r: whether it is accepted cannot be checked in advance",
            ])
        #expect(practice.simulation.requests.all.map(\.method) == ["GET", "GET"])
        #expect(practice.api.writes == 0)
    }

    @Test func `an address that is open to everyone proves no login`() async throws {
        #expect(try await examine().contains { $0.hasPrefix("unknown login: the address of source issues is public") })
        #expect(try await examine([], [:]).contains("ok login: none: no `auth` in bellhop.yaml"))
    }

    @Test func `a refused login is reported on one line, and tried once for any number of sources`() async throws {
        practice.api.requiredCredentials = .field("Authorization", "Bearer another")
        let lines = try await examine([Self.list, Self.source("more", ["path": "list", "id": "id"])])
        #expect(lines.count { $0.hasPrefix("missing") } == 1)
        #expect(lines.contains { $0.hasPrefix("missing login") })
        #expect(practice.simulation.requests.count() == 1)
    }

    @Test func `missing paths and items are reported`() async throws {
        let lines = try await examine([
            Self.source("gone", ["path": "nowhere", "id": "id"]), Self.source("nameless", ["path": "list", "id": "identity"]),
        ])
        #expect(lines.count { $0.hasPrefix("missing read") } == 2)
    }

    @Test(
        arguments: [
            (["X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "58"], RateLimit(60, left: 58)),
            (["RateLimit-Limit": "100, 100;w=60", "RateLimit-Remaining": "7"], RateLimit(100, left: 7)),
            (["RateLimit-Policy": "\"default\";q=100;w=60", "RateLimit": "\"default\";r=50;t=30"], RateLimit(100, left: 50)),
            (["RateLimit-Policy": "\"burst\";q=9, \"daily\";q=1000"], RateLimit(9)), ([:], nil),
        ] as [([String: String], RateLimit?)])
    func `the request limit is read from a server's header fields`(_ fields: [String: String], _ limit: RateLimit?) {
        #expect(RateLimit(HeaderFields(fields.map { .init($0.key, $0.value) })) == limit)
    }

    @Test func `the request limit of a server is reported`() async throws {
        practice.api.rateLimit = 60
        #expect(try await examine().contains { $0.hasPrefix("note rate limit: the server allows 60 requests") })
    }

    @Test func `a login trial succeeds, fails, or states why it proves nothing`() async throws {
        func trial(_ needs: ConnectionNeeds = ConnectionNeeds()) async throws -> LoginTrial {
            try await practice.open(Self.auth).verifyLogin(needs)
        }
        let needs = ConnectionNeeds(sources: [Self.list])
        #expect(try await trial(needs).doubt?.contains("answers the same without credentials") == true)
        #expect(try await trial().doubt?.contains("404") == true)
        practice.api.requiredCredentials = .field("Authorization", "Bearer t0ken")
        #expect(try await trial(needs) == LoginTrial(user: nil))
        practice.api.requiredCredentials = .field("Authorization", "Bearer another")
        #expect(await failure { _ = try await trial(needs) }?.reason == .unauthenticated)
        #expect(await failure { _ = try await trial() }?.reason == .unauthenticated)
    }

    @Test(
        arguments: [
            ("http", [:], false), ("http", ["auth": ["oauth": ["grant": "authorization_code"]]], true),
            ("http", ["auth": ["bearer": "x"]], false), ("servicenow", ["auth": ["keychain": true]], true),
            ("servicenow", ["auth": ["bearer": "x"]], false), ("eto", [:], true),
            ("eto", ["auth": ["basic": ["username": "a"]]], false),
            ("mobilefirst", [:], false), ("slack", [:], false), ("webhook", [:], false),
        ] as [(String, JSON.Object, Bool)])
    func `the kind and the settings of a connection determine whether its login is stored`(
        _ kind: String, _ settings: JSON.Object, _ isStored: Bool
    ) {
        #expect(Catalogue.login(ofKind: kind, Settings(settings)).isStored == isStored)
    }
}
