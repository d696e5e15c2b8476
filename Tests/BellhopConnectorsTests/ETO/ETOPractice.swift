import BellhopCore
import BellhopTesting
import Simulator

@testable import BellhopConnectors

/// ETO's services with the account ada@example.com, over the network; time advances only on demand.
struct ETOPractice {
    static let enterprise = "9f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f0"
    static let password = "correct horse & battery"
    let clock = TestClock()
    let simulation: Simulation
    let notebook = MemoryNotebook()
    let events = EventLog()

    var eto: SimulatedETO { simulation.eto }

    init() {
        let clock = clock
        simulation = Simulation { clock.now.microseconds }
        eto.addAccount("ada@example.com", password: Self.password)
        eto.addEnterprise(
            .init(
                Self.enterprise, "Shelter Network",
                sites: [
                    .init(77, "North", programs: [.init(1, "Intake"), .init(2, "Housing"), .init(3, "Old", isDisabled: true)]),
                    .init(78, "South"),
                ]))
        eto.addEnterprise(.init("1f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f1", "Other House", sites: [.init(5, "Only")]))
    }

    func settings(_ address: String, password: String = ETOPractice.password, _ more: JSON.Object = [:]) -> Settings {
        var values: JSON.Object = [
            "address": .string(address), "enterprise": "Shelter Network", "site": "77",
            "auth": ["basic": ["username": "ada@example.com", "password": .string(password)]],
        ]
        for (name, value) in more { values[name] = value.isNull ? nil : value }
        return Settings(values)
    }

    var environment: ConnectorEnvironment {
        ConnectorEnvironment(
            clock: clock, events: events, notebook: notebook, login: { _ in ("ada@example.com", ETOPractice.password) },
            baseFolder: "", output: { _ in }, random: { 42 })
    }

    /// Opens a connection until the test ends.
    /// - Parameter running: the address of a server that is already running; nil to run another one.
    func open(
        at running: String? = nil, password: String = ETOPractice.password, _ more: JSON.Object = [:]
    ) async throws -> ETOConnection {
        let address = if let running { running } else { try await simulation.serve() }
        let settings = settings(address, password: password, more)
        return try await ETOConnection(name: "eto", settings: settings, in: environment).untilTestEnds()
    }

    func source(_ connection: ETOConnection, _ more: JSON.Object = [:]) throws -> TouchPointsSource {
        var values: JSON.Object = [
            "touchpoint": "14", "subject": ["501"],
            "fields": ["notes": 1006, "visit": ["element": 12, "type": "timestamp"], "score": ["element": 20, "type": "int"]],
        ]
        for (name, value) in more { values[name] = value.isNull ? nil : value }
        return try TouchPointsSource(name: "visits", settings: Settings(values), connection: connection)
    }

    /// The third part of each request's path, which names the request.
    var requestNames: [String] {
        simulation.requests.all.map { request in
            let parts = request.path.split(separator: "/")
            return String(parts.count > 2 ? parts[2] : "?")
        }
    }

    static let chain = ["SSOAuthenticate", "GetSSOEnterprises", "GetSSOSites", "SSOSiteLogin"]
}
