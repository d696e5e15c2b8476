import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Tests that send mails to a simulated server.
protocol SMTPPractice {
    var mail: SimulatedMail { get }
    var notebook: MemoryNotebook { get }
}

extension SMTPPractice {
    var environment: ConnectorEnvironment {
        ConnectorEnvironment(
            clock: TestClock(), events: EventLog(), notebook: notebook, login: { _ in nil }, baseFolder: "", output: { _ in })
    }

    func connection(_ url: String, _ more: JSON.Object = [:]) throws(ConnectorErrors) -> EmailConnection {
        let values = JSON.Object(
            ["url": .string(url), "from": "Bellhop <bellhop@example.com>", "to": "ops@example.com"], with: more)
        return try EmailConnection(name: "mail", settings: Settings(values), in: environment)
    }

    func send(
        _ message: Message = SampleMessage.full, attempt: Int = 1, isRetriedByPerson: Bool = false, after first: JSON? = nil,
        over connection: EmailConnection
    ) async throws -> Receipt {
        try await connection.send(
            message, for: SampleDelivery.notify(message, to: "mail"),
            attempt: Attempt(
                number: attempt, now: SampleDelivery.now,
                firstStarted: attempt > 1 || isRetriedByPerson ? SampleDelivery.now : nil, firstMessage: first))
    }

    func failure(
        _ settings: JSON.Object = [:], of message: Message = SampleMessage.full, attempt: Int = 1
    ) async throws -> Failure {
        let port = try await MailServer(mail).serve()
        let connection = try connection("smtp://127.0.0.1:\(port)", settings)
        let failure = await BellhopConnectorsTests.failure { _ = try await send(message, attempt: attempt, over: connection) }
        let found = try #require(failure)
        #expect(!found.message.contains("correct horse"))
        return found
    }
}

extension MailServer {
    /// Serves until the test ends, and returns the port.
    func serve() async throws -> Int { try await untilTestEnds { try await self.serve($0) } }
}
