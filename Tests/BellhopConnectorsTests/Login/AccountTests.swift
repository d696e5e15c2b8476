import BellhopCore
import BellhopTesting
import Simulator
import Synchronization
import Testing

@testable import BellhopConnectors

/// Logins stored in the keychain, for every kind of connection.
@Suite(.closing) struct AccountTests {
    /// A keychain with one login that can be changed.
    private final class FakeKeychain: Sendable {
        struct Login: Sendable {
            var username = "ada@example.com"
            var password = ETOPractice.password
            var mark = "1"
            var place: String?
        }

        struct Broken: Error {}

        let login = Mutex<Login?>(Login())
        let isBroken = Mutex(false)

        func environment(_ practice: ETOPractice) -> ConnectorEnvironment {
            ConnectorEnvironment(
                clock: practice.clock, events: practice.events, notebook: practice.notebook,
                login: { _ in
                    if self.isBroken.withLock({ $0 }) { throw Broken() }
                    return self.login.withLock { $0.map { ($0.username, $0.password) } }
                }, loginMark: { _ in self.login.withLock { $0?.mark } }, loginPlace: { _ in self.login.withLock { $0?.place } },
                baseFolder: "", output: { _ in }, random: { 42 })
        }
    }

    private let practice = ETOPractice()
    private let keychain = FakeKeychain()

    /// Runs the body against the services with a connection whose login is in the keychain.
    private func open() async throws -> ETOConnection {
        let settings = practice.settings(try await practice.simulation.serve(), ["auth": .null])
        return try await ETOConnection(name: "eto", settings: settings, in: keychain.environment(practice)).untilTestEnds()
    }

    private func list(_ connection: ETOConnection) async throws {
        _ = try await connection.session.send(.responses(of: 14, subject: 501))
    }

    @Test func `a login from the keychain has its own event types, and a changed password is used next time`() async throws {
        let connection = try await open()
        try await list(connection)
        practice.eto.addAccount("ada@example.com", password: "another")
        keychain.login.withLock { $0?.password = "another" }
        practice.eto.logInToWebPages("ada@example.com")
        try await list(connection)
        #expect(practice.events.summary == ["ks_login_event ok", "session_expired", "ks_login_event ok"])
    }

    @Test func `a refused password that is stored again is tried again, even if it is the same`() async throws {
        keychain.login.withLock { $0?.password = "wrong" }
        let connection = try await open()
        for _ in 1...3 { #expect(await failure { try await list(connection) }?.reason == .unauthenticated) }
        #expect(practice.eto.counts.failedLogins == 1)
        practice.eto.addAccount("ada@example.com", password: "wrong")
        keychain.login.withLock { $0?.mark = "2" }
        // The connection pauses after a refusal, until a person asks or time passes.
        await practice.clock.advance(by: .seconds(900))
        try await list(connection)
    }

    @Test func `a stored login that became another user's is refused until the agent restarts`() async throws {
        let connection = try await open()
        keychain.login.withLock { $0?.username = "eve@example.com" }
        let found = await failure { try await list(connection) }
        #expect(found?.remedy == .pauseConnection)
        #expect(found?.message.contains("is another user's now (eve@example.com, it was ada@example.com)") == true)
        #expect(practice.simulation.requests.count() == 0)
    }

    @Test func `a missing login and an unreadable keychain are each reported with a remedy`() async throws {
        let connection = try await open()
        keychain.login.withLock { $0 = nil }
        let gone = await failure { try await list(connection) }
        #expect(gone?.message == "The keychain no longer holds a login for eto: run `bellhop login eto`.")
        await practice.clock.advance(by: .seconds(900))
        keychain.isBroken.withLock { $0 = true }
        let broken = await failure { try await list(connection) }
        #expect(broken?.message.contains("There is no login for connection eto: Broken().") == true)
    }

    @Test(arguments: ["servicenow", "eto"])
    func `a password is sent only to the origin that it was entered for`(_ kind: String) async throws {
        keychain.login.withLock { $0?.place = "https://elsewhere.example.com" }
        let address: JSON.Object =
            kind == "eto" ? ["address": "http://127.0.0.1:9"] : ["instance": "http://127.0.0.1:9", "auth": ["keychain": true]]
        await #expect(throws: ConnectorErrors.self) {
            _ = try await Connectors(
                connections: [("x", kind, Settings(address))], sources: [], environment: keychain.environment(practice))
        }
    }
}
