import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Mails to several recipients, of whom a server may refuse some.
@Suite(.timeLimit(.minutes(5))) struct SMTPRecipientTests: SMTPPractice {
    let mail = SimulatedMail(now: { SampleDelivery.now.microseconds })
    let notebook = MemoryNotebook()

    private static let three: JSON = ["a@example.com", "b@example.com", "c@example.com"]

    @Test func `a refused recipient does not keep the mail from the others, and each receives it once`() async throws {
        mail.settings.recipients = ["b@example.com": "450 4.2.1 Greylisted"]
        let first = try await failure(["to": Self.three])
        #expect(first.remedy == .retry(after: nil))
        // No trouble of the server, which would open its circuit breaker.
        #expect(first.reason == .refused)
        #expect(
            first.message.contains(
                "accepted the mail for a@example.com, c@example.com and refused b@example.com (450 4.2.1 Greylisted)"))
        mail.settings.recipients = [:]
        _ = try await MailServer(mail).serve { port in
            try await send(attempt: 2, over: try connection("smtp://127.0.0.1:\(port)", ["to": Self.three]))
        }
        #expect(mail.received.map(\.recipients) == [["a@example.com", "c@example.com"], ["b@example.com"]])
        #expect(Set(try mail.received.map { try MIMEReader($0.bytes).head.field("Message-ID") }).count == 1)
    }

    @Test func `a recipient refused for good is reported, and the others have the mail`() async throws {
        mail.settings.recipients = ["b@example.com": "550 5.1.1 No such user"]
        let found = try await failure(["to": Self.three])
        #expect(found.remedy == .giveUp)
        #expect(found.message.contains("and refused b@example.com (550 5.1.1 No such user)"))
        #expect(mail.received.map(\.recipients) == [["a@example.com", "c@example.com"]])
        let again = try await failure(["to": Self.three], attempt: 2)
        #expect(again.remedy == .giveUp)
        #expect(mail.received.count == 1)
        // A person removes the recipient and retries: attempts count from 1 again.
        var message = SampleMessage.full
        message.thread = "INC1"
        let threaded = message
        let receipt = try await MailServer(mail).serve { port in
            let connection = try connection("smtp://127.0.0.1:\(port)", ["to": ["a@example.com", "c@example.com"]])
            return try await send(threaded, isRetriedByPerson: true, over: connection)
        }
        #expect(receipt.summary.contains("by earlier attempts"))
        #expect(receipt.conversation?.firstMessage != nil)
        #expect(mail.received.count == 1)
    }

    @Test func `recipients beyond the server's limit get the mail with the next attempt`() async throws {
        mail.settings.maxRecipients = 2
        #expect(try await failure(["to": Self.three]).remedy == .retry(after: nil))
        _ = try await MailServer(mail).serve { port in
            try await send(attempt: 2, over: try connection("smtp://127.0.0.1:\(port)", ["to": Self.three]))
        }
        #expect(mail.received.map(\.recipients) == [["a@example.com", "b@example.com"], ["c@example.com"]])
    }

    @Test func `if the recipients who have the mail cannot be stored, the failure names them`() async throws {
        notebook.refuseWriting()
        mail.settings.recipients = ["b@example.com": "450 4.2.1 Greylisted"]
        let found = try await failure(["to": Self.three])
        #expect(found.reason == .fileSystem)
        #expect(found.message.contains("a@example.com, c@example.com"))
    }
}
