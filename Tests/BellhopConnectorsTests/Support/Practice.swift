import BellhopCore
import BellhopTesting
import Simulator

@testable import BellhopConnectors

/// A simulated instance with the user john.doe, over the network, and a connection to it; time advances only on demand.
struct Practice {
    let clock: TestClock
    let simulation: Simulation
    let notebook = MemoryNotebook()
    let events = EventLog()

    var instance: SimulatedInstance { simulation.instance }

    init(settings: InstanceSettings = InstanceSettings()) {
        let clock = TestClock()
        self.clock = clock
        simulation = Simulation(settings: settings) { clock.now.microseconds }
        simulation.instance.addUser("john.doe", password: "correct horse", name: "John Doe")
        simulation.instance.addUser("abel.tuter", password: "x", name: "Abel Tuter")
    }

    /// The checked settings of a connection.
    func settings(_ address: String, password: String = "correct horse", _ more: JSON.Object = [:]) -> Settings {
        let login: JSON = ["basic": ["username": "john.doe", "password": .string(password)]]
        return Settings(JSON.Object(["instance": .string(address), "auth": login], with: more))
    }

    /// A connection that is closed when the test ends.
    func connection(
        _ address: String, password: String = "correct horse", settings more: JSON.Object = [:]
    ) throws(ConnectorError) -> ServiceNowConnection {
        try ServiceNowConnection(name: "snow", settings: settings(address, password: password, more), in: environment())
            .untilTestEnds()
    }

    /// Serves the instance, and opens a connection of its own to it, until the test ends.
    func open(password: String = "correct horse", settings: JSON.Object = [:]) async throws -> ServiceNowConnection {
        try connection(await simulation.serve(), password: password, settings: settings)
    }
}

extension JSON.Object {
    /// These members, then others, which replace those of the same names.
    init(_ members: JSON.Object, with others: JSON.Object) {
        self = members
        for (name, value) in others { self[name] = value }
    }
}

extension Simulation {
    /// Serves it until the test ends, and returns the address.
    func serve() async throws -> String { try await untilTestEnds { try await SimulatorServer(self).serve($0) } }
}

/// The failure with which the work ends; nil if it succeeds.
func failure(of work: () async throws -> Void) async -> Failure? {
    do {
        try await work()
        return nil
    } catch let failure as Failure {
        return failure
    } catch {
        return Failure(.badArguments, .giveUp, "another error: \(error)")
    }
}
