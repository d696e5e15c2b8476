import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

extension Practice {
    /// The start of a practice instance's time.
    static let start = Timestamp(seconds: 1_767_603_600)

    func attempt(_ number: Int, uncertain: Timestamp? = nil) -> Attempt {
        Attempt(number: number, now: clock.now, firstStarted: number > 1 ? Self.start : nil, lastUncertain: uncertain)
    }

    /// Adds tasks, and stores a due comment on each.
    func addDueComments(_ count: Int, to store: any Store) async throws -> [SimulatedTask] {
        let tasks = (0..<count).map { instance.addTask(title: "Printer \($0)", assignedTo: "john.doe") }
        let deliveries = tasks.map { task in
            var delivery = Delivery.comment("Thanks", on: task.id, occasion: "event/\(task.id)")
            delivery.effect = .writes
            return delivery
        }
        try await store.route(Routing(deliveries: deliveries))
        return tasks
    }

    /// One attempt in new sessions, as after a restart; does not wait between lookups.
    func perform(_ delivery: Delivery, _ attempt: Attempt, settings: JSON.Object = [:]) async throws -> Receipt {
        let connection = try await open(settings: settings)
        let times = WriteTimes(lookupWaits: [])
        let action: any Action =
            switch delivery.action {
            case "update": UpdateAction(connection: connection, times: times)
            case "create": CreateAction(connection: connection, times: times)
            case "attach": AttachAction(connection: connection, times: times)
            default: CommentAction(connection: connection, times: times)
            }
        return try await action.perform(delivery, attempt: attempt)
    }

    func failing(_ delivery: Delivery, _ attempt: Attempt, settings: JSON.Object = [:]) async -> Failure? {
        await failure { _ = try await perform(delivery, attempt, settings: settings) }
    }

    /// Attempts as made by the dispatcher, until the delivery is done or given up: the next after an uncertain end comes soon,
    /// and again after the server's time limit.
    func persist(_ delivery: Delivery, attempts: Int = 8) async throws -> Receipt {
        var uncertain: Timestamp?
        for number in 1...attempts {
            let started = clock.now
            do { return try await perform(delivery, attempt(number, uncertain: uncertain)) } catch let failure as Failure {
                switch failure.remedy {
                case .unknownOutcome:
                    uncertain = started
                    await clock.advance(by: .seconds(7))
                case .retry(let after), .rest(let after): await clock.advance(by: max(after ?? .zero, .seconds(5)))
                case .giveUp, .hold, .pauseConnection, .pauseReceiver: throw failure
                }
            }
        }
        throw Failure(.notWritten, .giveUp, "it never ended")
    }
}

/// A fault of a writing request, and whether the request reaches the server.
struct WriteFault: Sendable, CustomTestStringConvertible {
    var fault: Fault
    var takesEffect: Bool
    var testDescription: String { "\(fault)\(takesEffect ? ", written" : "")" }

    /// Answers of a proxy in front of the server, although the server performed the request.
    static let refusals = [403, 404].map {
        WriteFault(fault: .status($0, body: #"{"error":{"message":"Not here"},"status":"failure"}"#), takesEffect: true)
    }

    static let all: [WriteFault] =
        [Fault.resetAfter, .cutBody, .truncatedJSON].map { WriteFault(fault: $0, takesEffect: true) }
        + [
            Fault.accepted, .badGateway, .internalError, .status(200, body: #"{"error":{"message":"x"},"status":"failure"}"#),
            .loginPage, .redirectToLogin,
            .status(401, body: #"{"error":{"message":"User Not Authenticated"},"status":"failure"}"#),
        ]
        .flatMap { [WriteFault(fault: $0, takesEffect: true), WriteFault(fault: $0, takesEffect: false)] }
        + [Fault.resetBefore, .sessionLost, .tooManyRequests(.seconds(3))]
        .map { WriteFault(fault: $0, takesEffect: false) }
}
