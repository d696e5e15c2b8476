import BellhopCore
import Simulator
import Testing

@testable import BellhopConnectors

/// A connection of one kind to the simulated services.
struct ServicePractice: Sendable {
    let simulation = Simulation(now: { SampleDelivery.now.microseconds })
    var kind: String
    var path: String
    var settings: JSON.Object

    var services: SimulatedServices { simulation.services }

    /// Serves the services, and opens the connection to them, until the test ends.
    func open() async throws -> Connectors {
        var all = settings
        all["url"] = .string(try await simulation.serve() + path)
        return try await Connectors(connections: [("ops", kind, Settings(all))], sources: [], environment: .sample())
            .untilTestEnds()
    }

    /// - Parameters:
    ///   - occasion: distinguishes deliveries.
    ///   - first: the receiver's reference to the first message of the conversation.
    func send(
        _ message: Message, occasion: String = "e1", after first: JSON? = nil, over connectors: Connectors
    ) async throws -> Receipt {
        try await perform("notify", .message(message), occasion: occasion, after: first, over: connectors)
    }

    func perform(
        _ action: String, _ arguments: Arguments, occasion: String = "e1", after first: JSON? = nil, over connectors: Connectors
    ) async throws -> Receipt {
        var delivery = SampleDelivery.make(action, arguments)
        delivery.id.occasion = Occasion.event(.init(occasion)).id
        let performer = try #require(connectors.action(for: delivery))
        return try await performer.perform(delivery, attempt: Attempt(number: 1, now: SampleDelivery.now, firstMessage: first))
    }

    /// Sends one message over a connection of its own.
    func send(_ message: Message) async throws -> Receipt { try await send(message, over: open()) }

    func failure(_ message: Message = SampleMessage.full, after first: JSON? = nil) async throws -> Failure {
        let connectors = try await open()
        let found = await BellhopConnectorsTests.failure { _ = try await send(message, after: first, over: connectors) }
        return try #require(found)
    }

    /// Sets the service's answer to the next request.
    func answering(_ status: Int, _ body: String) -> ServicePractice {
        simulation.faults.add(.status(status, body: body), path: path)
        return self
    }
}
