import BellhopCore
import BellhopTesting
import Simulator

@testable import BellhopConnectors

/// A Mobile Foundation runtime with a confidential client, over the network; time advances only on demand.
struct MobileFoundationPractice {
    static let secret = "s3cret & more"
    let clock = TestClock()
    let simulation: Simulation
    let notebook = MemoryNotebook()
    let events = EventLog()

    var runtime: SimulatedMobileFoundation { simulation.mobileFoundation }

    init() {
        let clock = clock
        simulation = Simulation { clock.now.microseconds }
        runtime.addClient("bellhop", secret: Self.secret, scopes: ["orders", "write"])
    }

    /// Opens a connection until the test ends.
    /// - Parameter running: that of a server that is already running; nil to run another one.
    func open(
        at running: String? = nil, secret: String = MobileFoundationPractice.secret, _ more: JSON.Object = [:]
    ) async throws -> MobileFoundationConnection {
        let address = if let running { running } else { try await simulation.serve() }
        let usual: JSON.Object = [
            "address": .string(address), "client_id": "bellhop", "client_secret": .string(secret), "external": [.string(address)],
        ]
        let environment = ConnectorEnvironment(
            clock: clock, events: events, notebook: notebook, login: { _ in nil }, baseFolder: "", output: { _ in },
            random: { 42 })
        let settings = Settings(JSON.Object(usual, with: more))
        return try MobileFoundationConnection(name: "mfp", settings: settings, environment: environment).untilTestEnds()
    }

    func call(
        _ connection: MobileFoundationConnection, _ arguments: JSON.Object, attempt: Attempt? = nil
    ) async throws -> Receipt {
        let delivery = Delivery(
            id: .init(occasion: Occasion.ID("event/1"), rule: "call", step: StepPath(index: 0), receiver: "mfp"), revision: "1",
            action: "adapter", arguments: .values(arguments), task: nil, lane: "call", createdAt: clock.now)
        return try await AdapterAction(connection: connection).perform(
            delivery, attempt: attempt ?? Attempt(number: 1, now: clock.now))
    }
}
