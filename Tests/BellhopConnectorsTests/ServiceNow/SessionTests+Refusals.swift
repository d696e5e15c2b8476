import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Refused passwords and their stored records.
extension SessionTests {
    @Test func `a wrong password is tried once, in every session and after a restart, until it changes`() async throws {
        let address = try await practice.simulation.serve()
        for _ in 1...2 {  // the second after a restart, with the same notebook
            let connection = try practice.connection(address, password: "wrong")
            for session in [connection.reading, connection.writers.all[0], connection.reading] {
                let failure = await failure { _ = try await session.send(.tasks) }
                #expect(failure?.reason == .unauthenticated)
                #expect(failure?.remedy == .pauseConnection)
                #expect(failure?.message.contains("bellhop login snow") == true)
                #expect(failure?.message.contains("snc_basic_auth_api_access") == true)
            }
        }
        #expect(practice.instance.counts.failedLogins == 1)
        try await list(practice.connection(address))
        #expect(practice.instance.counts.failedLogins == 1)
        #expect(practice.events.summary == ["login_event failed", "login_event ok"])
        #expect(practice.notebook.all.isEmpty)
    }

    @Test func `a wrong password that is refused with a login page is tried once too`() async throws {
        let own = "/api/now/v2/table/sys_user"
        practice.simulation.faults.add(.status(401, body: "<form action=\"login.do\">"), "GET", path: own, times: nil)
        let connection = try await practice.open()
        for _ in 1...2 {
            let failure = await failure { try await list(connection) }
            #expect(failure?.reason == .unauthenticated && failure?.remedy == .pauseConnection)
        }
        #expect(practice.simulation.requests.count("GET", path: own) == 1)
    }

    @Test func `an examination requested by a person tries a refused password again`() async throws {
        let connection = try await practice.open(password: "new horse")
        let refused = await failure { _ = try await connection.verifyUser() }
        #expect(refused?.reason == .unauthenticated)
        practice.instance.setPassword(of: "john.doe", to: "new horse")
        #expect(await failure { try await list(connection) }?.reason == .unauthenticated)
        _ = try await connection.verifyUser()
        try await list(connection)
        #expect(practice.instance.counts.failedLogins == 1)
    }

    @Test func `a refused login that is stored again is tried again, even with the same password`() async throws {
        let address = try await practice.simulation.serve()
        let mark = SharedText("1")
        let environment = ConnectorEnvironment(
            clock: practice.clock, events: practice.events, notebook: practice.notebook,
            login: { _ in ("john.doe", "new horse") }, loginMark: { _ in mark.text }, baseFolder: "", output: { _ in })
        let connectors = try await Connectors(
            connections: [("snow", "servicenow", Settings(["instance": .string(address), "auth": ["keychain": true]]))],
            sources: [("work", "tracker", "snow", Settings())], environment: environment)
        let source = try #require(connectors.sources.first)
        for _ in 1...2 { #expect(await failure { _ = try await source.list(from: LastPoll()) }?.reason == .unauthenticated) }
        practice.instance.setPassword(of: "john.doe", to: "new horse")
        #expect(await failure { _ = try await source.list(from: LastPoll()) }?.reason == .unauthenticated)
        mark.text = "2"
        #expect(await failure { _ = try await source.list(from: LastPoll()) } == nil)
        await connectors.shutdown()
        #expect(practice.instance.counts.failedLogins == 1)
        #expect(practice.notebook.all.isEmpty)
    }

    @Test func `a refusal is remembered even if it cannot be stored`() async throws {
        let connection = try await practice.open(password: "wrong")
        practice.notebook.refuseWriting()
        for _ in 1...2 { _ = await failure { try await list(connection) } }
        #expect(practice.instance.counts.failedLogins == 1)
    }

    @Test func `the record of a refused password is neither the password nor a plain hash`() async throws {
        _ = await failure { try await list(practice.open(password: "hunter2hunter2")) }
        let note = try #require(practice.notebook.all.values.first)
        #expect(!note.text.contains("hunter2"))
        #expect(note["hash"]?.asString?.utf8.count == 16)
    }

    @Test(arguments: [Fault.badGateway, .internalError, .hibernating, .resetBefore, .tooManyRequests(.seconds(7))])
    func `an outage at the login is not a refused password`(_ fault: Fault) async throws {
        practice.simulation.faults.add(fault, "GET", path: "/api/now/v2/table/sys_user")
        let connection = try await practice.open()
        let failure = await failure { try await list(connection) }
        switch failure?.remedy {
        case .retry?, .rest?: break
        default: Issue.record("\(String(describing: failure))")
        }
        try await list(connection)
        #expect(practice.events.summary == ["login_event failed", "login_event ok"])
    }
}
