import BellhopCore
import Testing

@testable import BellhopConnectors

enum SampleDelivery {
    static let now = Timestamp(seconds: 1_767_603_600)  // 2026-01-05T09:00:00Z

    static let task = TaskReference(
        source: "my-work", key: TaskKey("9d385017c611228701d22104cc95c371"), number: "INC0010021",
        title: "My computer doesn't work",
        className: "incident", url: "https://acme.service-now.com/nav_to.do?uri=task.do", subject: "acme/9d38")

    static func make(
        _ action: String, _ arguments: Arguments, to receiver: String = "ops", task: TaskReference? = task,
        expires: Timestamp? = nil
    ) -> Delivery {
        Delivery(
            id: .init(occasion: Occasion.event(.init("e1")).id, rule: "tell-ops", step: StepPath(index: 0), receiver: receiver),
            revision: "1", action: action, arguments: arguments, task: task, lane: "lane", createdAt: now, expires: expires)
    }

    static func notify(_ message: Message, to receiver: String = "ops") -> Delivery {
        make("notify", .message(message), to: receiver)
    }

    static func webhook(_ arguments: JSON.Object, to receiver: String = "ops", expires: Timestamp? = nil) -> Delivery {
        make("webhook", .values(arguments), to: receiver, expires: expires)
    }

    static let first = Attempt(number: 1, now: now)

    /// The failure of a delivery over a connection of a kind with these settings; nil if it succeeds.
    static func failure(of delivery: Delivery, over kind: String, _ settings: JSON.Object) async throws -> Failure? {
        let connectors = try await Connectors(
            connections: [(delivery.id.receiver, kind, Settings(settings))], sources: [], environment: .sample()
        ).untilTestEnds()
        let action = try #require(connectors.action(for: delivery))
        return await BellhopConnectorsTests.failure { _ = try await action.perform(delivery, attempt: first) }
    }
}
