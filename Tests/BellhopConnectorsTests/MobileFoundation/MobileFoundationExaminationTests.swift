import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct MobileFoundationExaminationTests {
    let practice = MobileFoundationPractice()

    private static func source(_ name: String, _ settings: JSON.Object) -> ConnectionNeeds.SourceNeed {
        .init(name: name, kind: "adapter", settings: Settings(settings), schema: TaskSchema([]))
    }

    private func examine(
        _ sources: [ConnectionNeeds.SourceNeed], actions: [ConnectionNeeds.ActionNeed] = [], secret: String = "s3cret & more",
        _ more: JSON.Object = [:]
    ) async throws -> [String] {
        let needs = ConnectionNeeds(sources: sources, actions: actions)
        return try await practice.open(secret: secret, more).examine(needs)
            .map { "\($0.state.rawValue) \($0.subject): \($0.text)" }
    }

    @Test func `token, clock and adapters are reported with their scopes, using only GET`() async throws {
        practice.runtime.addAdapter("orders", .init(scopes: ["orders"]) { _ in .init(body: #"[{"id": 1}, {"id": 2}]"#) })
        let lines = try await examine(
            [
                Self.source("orders", ["adapter": "orders", "id": "id"]),
                Self.source("sent", ["adapter": "orders", "method": "POST", "id": "id"]),
            ], actions: [.init(rule: "r", action: "adapter", constants: ["adapter": "orders"])])
        #expect(
            lines.dropFirst() == [
                "ok token: bellhop has a token for RegisteredClient", "ok clock: the clocks agree",
                "ok read orders: 2 items, with the scope RegisteredClient, orders",
                "unknown read sent: its method is not GET, so it was not tried",
                "unknown call orders: rule r: whether it answers, and with which scope, cannot be checked in advance",
            ])
        let asked = practice.simulation.requests.all.filter { !$0.path.hasSuffix("/az/v1/token") }
        #expect(asked.allSatisfy { $0.method == "GET" })
    }

    @Test func `a wrong secret is reported on one line, and tried once`() async throws {
        let lines = try await examine([Self.source("orders", ["adapter": "orders", "id": "id"])], secret: "wrong")
        #expect(lines.map { $0.prefix(7) } == ["ok conn", "missing", "ok cloc"])
        #expect(practice.runtime.counts.refusedClients == 1)
    }

    @Test func `doctor, query and the agent try a refused secret once in all, and a person's login tries it again`() async throws
    {
        practice.runtime.addAdapter("orders", .init(scopes: ["orders"]) { _ in .init(body: "[]") })
        let orders = Self.source("orders", ["adapter": "orders", "id": "id"])
        let address = try await practice.simulation.serve()
        for _ in 0..<2 {
            let findings = try await practice.open(at: address, secret: "wrong").examine(ConnectionNeeds(sources: [orders]))
            #expect(findings.contains { $0.state == .missing })
            // As both the agent and `query` do.
            let refused = await failure {
                let connection = try await practice.open(at: address, secret: "wrong", ["scope": ["orders"]])
                let source = try connection.source("orders", kind: "adapter", settings: orders.settings)
                _ = try await source?.list(from: LastPoll())
            }
            #expect(refused?.remedy == .pauseConnection)
        }
        #expect(practice.runtime.counts.refusedClients == 1)
        let again = await failure {
            _ = try await practice.open(at: address, secret: "wrong").verifyLogin(ConnectionNeeds())
        }
        #expect(again != nil)
        #expect(practice.runtime.counts.refusedClients == 2)
    }

    @Test func `a missing scope, a missing adapter and a failing back end are reported`() async throws {
        practice.runtime.addAdapter("vault", .init(scopes: ["admin"]) { _ in .init(body: "[]") })
        practice.runtime.addAdapter("broken", .init(isJavaScript: true) { _ in .init(body: #"{"isSuccessful": false}"#) })
        let lines = try await examine([
            Self.source("vault", ["adapter": "vault", "id": "id"]), Self.source("none", ["adapter": "none", "id": "id"]),
            Self.source("broken", ["adapter": "broken", "procedure": "get", "id": "id"]),
        ])
        #expect(lines.suffix(3).allSatisfy { $0.hasPrefix("missing read") })
        #expect(lines.contains { $0.contains("gives the client bellhop no token for the scope") })
        #expect(lines.contains { $0.contains("The back end behind") })
        let scope = try await examine([], ["scope": ["admin"]])
        #expect(scope.contains { $0.hasPrefix("missing token") && $0.contains("admin") })
    }
}
