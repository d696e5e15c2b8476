import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Mails to several recipients, of whom a server may refuse some.
@Suite(.timeLimit(.minutes(5)), .closing) struct SMTPRecipientTests: SMTPPractice {
    let mail = SimulatedMail(now: { SampleDelivery.now.microseconds })
    let notebook = MemoryNotebook()

    private static let three: JSON = ["a@example.com", "b@example.com", "c@example.com"]

    @Test func `a refused recipient does not keep the mail from the others, and each receives it once`() async throws {
        mail.settings.recipients = ["b@example.com": "450 4.2.1 Greylisted"]
        for attempt in 1...2 {
            let found = try await failure(["to": Self.three], attempt: attempt)
            #expect(found.remedy == .retry(after: nil))
            // No trouble of the server, which would open its circuit breaker.
            #expect(found.reason == .refused)
            #expect(
                found.message.contains(
                    "accepted the mail for a@example.com, c@example.com and refused b@example.com (450 4.2.1 Greylisted)"))
        }
        mail.settings.recipients = [:]
        let port = try await MailServer(mail).serve()
        _ = try await send(attempt: 3, over: try connection("smtp://127.0.0.1:\(port)", ["to": Self.three]))
        #expect(mail.received.map(\.recipients) == [["a@example.com", "c@example.com"], ["b@example.com"]])
        #expect(Set(try mail.received.map { try MIMEReader($0.bytes).head.field("Message-ID") }).count == 1)
    }

    @Test func `a quota that is used up between two recipients rests the connection, and each recipient receives the mail once`()
        async throws
    {
        mail.settings.recipients = ["b@example.com": "550 5.4.5 Daily user sending limit exceeded"]
        for attempt in 1...2 {
            let found = try await failure(["to": Self.three], attempt: attempt)
            // The attempt counts, so that the next one knows who has the mail.
            #expect(found.remedy == .retry(after: .seconds(3600)) && found.rest == .seconds(3600), "\(found)")
            #expect(found.reason == .throttled)
        }
        mail.settings.recipients = [:]
        let port = try await MailServer(mail).serve()
        _ = try await send(attempt: 3, over: try connection("smtp://127.0.0.1:\(port)", ["to": Self.three]))
        #expect(mail.received.map(\.recipients) == [["a@example.com", "c@example.com"], ["b@example.com"]])
    }

    @Test func `a recipient refused for good is reported, and the others have the mail`() async throws {
        mail.settings.recipients = ["b@example.com": "550 5.1.1 No such user"]
        for attempt in 1...2 {
            let found = try await failure(["to": Self.three], attempt: attempt)
            #expect(found.remedy == .giveUp)
            #expect(
                found.message.contains(
                    "accepted the mail for a@example.com, c@example.com and refused b@example.com (550 5.1.1 No such user)"))
            #expect(mail.received.map(\.recipients) == [["a@example.com", "c@example.com"]])
        }
        // A person removes the recipient and retries: attempts count from 1 again.
        var message = SampleMessage.full
        message.thread = "INC1"
        let threaded = message
        let port = try await MailServer(mail).serve()
        let connection = try connection("smtp://127.0.0.1:\(port)", ["to": ["a@example.com", "c@example.com"]])
        let receipt = try await send(threaded, isRetriedByPerson: true, over: connection)
        #expect(receipt.summary.contains("by earlier attempts"))
        #expect(receipt.conversation?.firstMessage != nil)
        #expect(mail.received.count == 1)
    }

    @Test func `a mail that some recipients have begins its thread although it failed, and does not answer itself when retried`()
        async throws
    {
        mail.settings.recipients = ["b@example.com": "550 5.1.1 No such user"]
        var message = SampleMessage.full
        message.thread = "INC1"
        let threaded = message
        let first = try #require(try await failure(["to": Self.three], of: threaded).conversation?.firstMessage)
        mail.settings.recipients = [:]
        let port = try await MailServer(mail).serve()
        let connection = try connection("smtp://127.0.0.1:\(port)", ["to": Self.three])
        let receipt = try await send(threaded, isRetriedByPerson: true, after: first, over: connection)
        #expect(receipt.conversation?.firstMessage == first)
        #expect(mail.received.map(\.recipients) == [["a@example.com", "c@example.com"], ["b@example.com"]])
        #expect(mail.received.allSatisfy { !String(decoding: $0.bytes, as: UTF8.self).contains("References:") })
    }

    @Test func `a server that closes the connection at the last recipient rests it, although the others have the mail`()
        async throws
    {
        mail.settings.recipients = ["b@example.com": "450 4.2.1 Greylisted"]
        _ = try await failure(["to": Self.three])
        mail.settings.recipients = ["b@example.com": "421 4.3.2 Closing"]
        #expect(try await failure(["to": Self.three], attempt: 2).remedy == .rest(nil))
    }

    @Test(arguments: [
        (["250 ok", "550 5.1.1 No such user"], Failure.Reason.cut, Failure.Remedy.retry(after: nil)),
        (["550 5.1.1 No such user", "250 ok"], .cut, .retry(after: nil)),
        (["550 5.1.1 No such user"], .cut, .retry(after: nil)),
        (["250 ok", "421 4.3.2 Closing"], .throttled, .rest(nil)), (["421 4.3.2 Closing"], .throttled, .rest(nil)),
        (["550 5.1.1 No such user", "550 5.1.1 No such user"], .refused, .giveUp),
    ])
    func `a connection lost after a refused recipient does not lose the mail for the others`(
        _ replies: [String], _ reason: Failure.Reason, _ remedy: Failure.Remedy
    ) throws {
        var transcript = SMTPTranscript()
        transcript.received(Array("220 x\r\n".utf8))
        for reply in replies {
            transcript.sent(Array("RCPT TO:<a@example.com>\r\n".utf8))
            transcript.received(Array((reply + "\r\n").utf8))
        }
        transcript.sent(Array("DATA\r\n".utf8))
        let server = SMTPConfiguration(
            address: try SMTPAddress("smtp://127.0.0.1"), upgrades: false, timeout: .seconds(1), helloName: "example.com")
        let found = SMTPOutcome.failure(
            SMTPEnding(cause: .cut, transcript: transcript), ["a@example.com", "b@example.com"], SMTPLabel(name: "mail", server))
        #expect(found.reason == reason && found.remedy == remedy, "\(found.message)")
    }

    @Test func `recipients beyond the server's limit get the mail with the next attempt`() async throws {
        mail.settings.maxRecipients = 2
        #expect(try await failure(["to": Self.three]).remedy == .retry(after: nil))
        let port = try await MailServer(mail).serve()
        _ = try await send(attempt: 2, over: try connection("smtp://127.0.0.1:\(port)", ["to": Self.three]))
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
