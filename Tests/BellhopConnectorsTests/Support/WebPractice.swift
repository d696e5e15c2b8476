import BellhopCore
import BellhopTesting
import Simulator

@testable import BellhopConnectors

/// A simulated JSON API over the network, and a connection to it; time advances only on demand.
struct WebPractice {
    let clock = TestClock()
    let simulation: Simulation
    let notebook = MemoryNotebook()

    var api: SimulatedAPI { simulation.api }

    init() {
        let clock = clock
        simulation = Simulation { clock.now.microseconds }
    }

    var environment: ConnectorEnvironment {
        ConnectorEnvironment(
            clock: clock, events: EventLog(), notebook: notebook, login: { _ in nil }, baseFolder: "", output: { _ in },
            random: { 42 })
    }

    func connection(_ address: String, _ more: JSON.Object = [:]) throws -> WebConnection {
        let values = JSON.Object(["url": .string(address + "/rest/v1")], with: more)
        return try WebConnection(name: "api", settings: Settings(values), in: environment)
    }

    /// Serves the API, and opens a connection of its own to it, until the test ends.
    func open(_ settings: JSON.Object = [:]) async throws -> WebConnection {
        try connection(await simulation.serve(), settings).untilTestEnds()
    }

    func source(_ settings: JSON.Object, connection: JSON.Object = [:]) async throws -> RESTSource {
        var settings = settings
        if settings["id"] == nil { settings["id"] = "id" }
        return try await RESTSource(name: "issues", settings: Settings(settings), connection: open(connection))
    }

    /// The titles listed by a source with these settings, in order.
    func titles(_ settings: JSON.Object, connection: JSON.Object = [:]) async throws -> [String] {
        var settings = settings
        if settings["title"] == nil { settings["title"] = "title" }
        let source = try await source(settings, connection: connection)
        let listing = try await source.list(from: LastPoll()).listing
        let keys = listing.entries.map(\.key)
        let details = try await source.details(of: keys, in: listing)
        return keys.compactMap { details.snapshots[$0]?.title }
    }

    func failure(_ settings: JSON.Object, connection: JSON.Object = [:]) async -> Failure? {
        await BellhopConnectorsTests.failure { _ = try await titles(settings, connection: connection) }
    }
}

extension LastPoll {
    /// The position of a source after a committed answer.
    init(_ answer: Answer) { self.init(cursor: answer.cursor, answer: answer.fingerprint) }
}
