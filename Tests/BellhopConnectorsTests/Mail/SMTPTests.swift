import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Mails over a real connection to a simulated server.
@Suite(.timeLimit(.minutes(5)), .closing) struct SMTPTests: SMTPPractice {
    let mail = SimulatedMail(now: { SampleDelivery.now.microseconds })
    let notebook = MemoryNotebook()

    private static let identity = MailServer.Identity(certificate: TLSServer.certificate, key: TLSServer.key)

    @Test func `a mail arrives at a server on this machine`() async throws {
        let port = try await MailServer(mail).serve()
        let receipt = try await send(
            over: try connection("smtp://localhost:\(port)", ["to": ["ops@example.com", "Duty <duty@example.com>"]]))
        #expect(receipt.summary.hasPrefix("250 2.0.0 Ok: queued as 1, from mail (localhost:"))
        #expect(receipt.conversation == nil, "without a thread")
        let arrived = try #require(mail.received.first)
        #expect(arrived.sender == "bellhop@example.com")
        #expect(arrived.recipients == ["ops@example.com", "duty@example.com"])
        #expect(arrived.client == "example.com")
        let read = try MIMEReader(arrived.bytes)
        #expect(try read.head.field("To") == "ops@example.com, Duty <duty@example.com>")
        #expect(try read.subject == "🚨 INC0010021 needs somebody")
        #expect(try read.head.field("Importance") == "high")
    }

    @Test(arguments: [["PLAIN"], ["LOGIN"], ["CRAM-MD5", "LOGIN", "PLAIN"]])
    func `with STARTTLS, login and mail are encrypted`(_ mechanisms: [String]) async throws {
        mail.settings.accounts = ["bellhop": "correct horse"]
        mail.settings.needsTLS = true
        mail.settings.mechanisms = mechanisms
        let folder = try TemporaryFolder()
        try folder.write("ca.pem", TLSServer.certificate)
        let port = try await MailServer(mail, identity: Self.identity).serve()
        let connection = try connection(
            "smtp://localhost:\(port)",
            [
                "starttls": "required", "ca": .string(folder.path + "/ca.pem"), "username": "bellhop",
                "password": "correct horse",
            ])
        #expect(try await connection.verifyLogin(ConnectionNeeds()).user == "bellhop")
        #expect(await connection.examine(ConnectionNeeds()).map(\.state) == [.ok])
        _ = try await send(over: connection)
        #expect(mail.received.map(\.user) == ["bellhop"])
        #expect(mail.received.map(\.isEncrypted) == [true])
    }

    @Test func `smtps uses TLS from the first byte`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("ca.pem", TLSServer.certificate)
        let port = try await MailServer(mail, identity: Self.identity, isTLSFromStart: true).serve()
        _ = try await send(over: try connection("smtps://localhost:\(port)", ["ca": .string(folder.path + "/ca.pem")]))
        #expect(mail.received.map(\.isEncrypted) == [true])
    }

    @Test func `nothing is sent to a mail server with an untrusted certificate`() async throws {
        mail.settings.accounts = ["bellhop": "correct horse"]
        for (server, url) in [
            (MailServer(mail, identity: Self.identity), "smtp"),
            (MailServer(mail, identity: Self.identity, isTLSFromStart: true), "smtps"),
        ] {
            let port = try await server.serve()
            let connection = try connection(
                "\(url)://localhost:\(port)", ["starttls": "required", "username": "bellhop", "password": "correct horse"])
            let found = await BellhopConnectorsTests.failure { _ = try await send(over: connection) }
            #expect(found?.reason == .tls)
            #expect(found?.message.contains("does not trust the certificate of localhost:") == true)
        }
        #expect(mail.received.isEmpty)
    }

    @Test func `a certificate for another name is not accepted`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("ca.pem", TLSServer.certificate)
        let port = try await MailServer(mail, identity: Self.identity, isTLSFromStart: true).serve()
        let connection = try connection("smtps://127.0.0.1:\(port)", ["ca": .string(folder.path + "/ca.pem")])
        let found = await BellhopConnectorsTests.failure { _ = try await send(over: connection) }
        #expect(found?.reason == .tls)
        #expect(mail.received.isEmpty)
    }

    @Test func `the server is greeted with the name that the connection is given`() async throws {
        let port = try await MailServer(mail).serve()
        _ = try await send(over: try connection("smtp://localhost:\(port)", ["hello": "Relay.example.net"]))
        #expect(mail.received.map(\.client) == ["relay.example.net"])
    }

    @Test func `STARTTLS cannot be off for another machine`() {
        let error = #expect(throws: ConnectorErrors.self) { try connection("smtp://mail.example.com", ["starttls": "off"]) }
        #expect(error?.all.map(\.setting) == ["starttls"])
    }

    @Test(arguments: [
        ("url", "http://x"), ("from", "a\r\nBcc: b@example.com"), ("to", "nobody"), ("username", "x"), ("password", "x"),
        ("from", ""), ("hello", "a b"), ("hello", "a/b"), ("hello", "x <y@z>"),
    ])
    func `a wrong setting is reported by its name`(_ setting: String, _ value: String) {
        let error = #expect(throws: ConnectorErrors.self) { try connection("smtp://mail.example.com", [setting: .string(value)]) }
        let named = ["username": "password", "password": "username"][setting] ?? setting
        #expect(error?.all.map(\.setting) == [named])
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var place: String
        var reply: String
        var reason: Failure.Reason
        var remedy: Failure.Remedy
        var testDescription: String { "\(place): \(reply)" }
    }

    @Test(arguments: [
        Refusal(place: "greeting", reply: "554 No SMTP service here", reason: .refused, remedy: .giveUp),
        Refusal(place: "greeting", reply: "421 4.3.2 Too many connections", reason: .throttled, remedy: .rest(nil)),
        Refusal(place: "greeting", reply: "450 4.3.2 Later", reason: .dropped, remedy: .retry(after: nil)),
        Refusal(place: "login", reply: "535 5.7.8 No", reason: .unauthenticated, remedy: .pauseReceiver),
        Refusal(place: "login", reply: "454 4.7.0 Too many login attempts", reason: .dropped, remedy: .retry(after: nil)),
        Refusal(place: "sender", reply: "553 5.7.1 Not your address", reason: .refused, remedy: .giveUp),
        Refusal(place: "sender", reply: "451 4.3.0 Later", reason: .dropped, remedy: .retry(after: nil)),
        Refusal(place: "sender", reply: "530 5.7.0 Authentication required", reason: .unauthenticated, remedy: .pauseReceiver),
        Refusal(place: "recipients", reply: "550 5.1.1 No such user", reason: .refused, remedy: .giveUp),
        Refusal(place: "recipients", reply: "450 4.2.1 Greylisted", reason: .dropped, remedy: .retry(after: nil)),
        Refusal(place: "recipients", reply: "421 4.7.0 Closing", reason: .throttled, remedy: .rest(nil)),
        Refusal(
            place: "sender", reply: "550 5.4.5 Daily user sending limit exceeded", reason: .throttled,
            remedy: .rest(.seconds(3600))),
        Refusal(
            place: "recipients", reply: "550 5.4.5 Daily user sending limit exceeded", reason: .throttled,
            remedy: .rest(.seconds(3600))),
        Refusal(
            place: "end", reply: "550 5.4.5 Daily user sending limit exceeded", reason: .throttled, remedy: .rest(.seconds(3600))),
        Refusal(place: "data", reply: "554 5.5.1 No", reason: .refused, remedy: .giveUp),
        Refusal(place: "data", reply: "451 4.3.0 Later", reason: .dropped, remedy: .retry(after: nil)),
        Refusal(place: "end", reply: "554 5.7.1 Rejected as spam", reason: .refused, remedy: .giveUp),
        Refusal(place: "end", reply: "552 5.3.4 Too big", reason: .tooLarge, remedy: .giveUp),
        Refusal(place: "end", reply: "452 4.3.1 Disk full", reason: .dropped, remedy: .retry(after: nil)),
    ])
    func `a refusal at any step is final or retried, depending on its code`(_ known: Refusal) async throws {
        mail.settings.accounts = ["bellhop": "correct horse"]
        switch known.place {
        case "greeting": mail.settings.greeting = known.reply
        case "login": mail.settings.login = known.reply
        case "sender": mail.settings.sender = known.reply
        case "recipients": mail.settings.recipients = ["ops@example.com": known.reply]
        case "data": mail.settings.data = known.reply
        default: mail.settings.end = known.reply
        }
        let found = try await failure(["username": "bellhop", "password": "correct horse"])
        #expect(found.reason == known.reason, "\(found.message)")
        #expect(found.remedy == known.remedy, "\(found.message)")
        #expect(found.message.contains(known.reply), "\(found.message)")
        #expect(mail.received.isEmpty)
    }

    @Test func `a simulated mail server refuses and accepts as set over HTTP`() async throws {
        let simulation = Simulation(now: { SampleDelivery.now.microseconds })
        let base = try await simulation.serve()
        let http = try HTTPConnection(.init(name: "admin", plainHTTP: true), clock: TestClock())
        func patch(_ body: String) async throws -> HTTPResponse {
            try await http.send(HTTPRequest("PATCH", try HTTPAddress(base + "/simulator/mail/settings"), body: Array(body.utf8)))
        }
        let set = try await patch(
            #"{"accounts": {"bellhop": "hunter2"}, "recipients": {"ops@example.com": "550 5.1.1 No such user"}, "cut": null}"#
        )
        #expect(set.status == 200)
        #expect(set.json?["accounts"] == ["bellhop"])
        let port = try await MailServer(simulation.mail).serve()
        let connection = try connection("smtp://127.0.0.1:\(port)", ["username": "bellhop", "password": "hunter2"])
        let refused = await BellhopConnectorsTests.failure { _ = try await send(over: connection) }
        #expect(refused?.message.contains("550 5.1.1 No such user") == true, "\(refused?.message ?? "")")
        #expect(try await patch(#"{"recipients": {}, "end": "452 4.3.1 Disk full"}"#).status == 200)
        let full = await BellhopConnectorsTests.failure { _ = try await send(over: connection) }
        #expect(full?.message.contains("452 4.3.1 Disk full") == true, "\(full?.message ?? "")")
        #expect(try await patch(#"{"end": null}"#).status == 200)
        _ = try await send(over: connection)
        #expect(simulation.mail.received.count == 1)
        for wrong in [#"{"end": "250\r\n250 x"}"#, #"{"data": "no"}"#, #"{"cut": "never"}"#, #"{"x": 1}"#] {
            #expect(try await patch(wrong).status == 400, "\(wrong)")
        }
        try await http.shutdown()
    }

    @Test func `only AUTH and its continuation count as steps of the login`() {
        var transcript = SMTPTranscript()
        transcript.received(Array("220 x\r\n".utf8))
        for (command, reply) in [
            ("RSET", "502 No"), ("VRFY a", "252 x"), ("AUTH LOGIN", "334 VXNlcm5hbWU6"), ("cnNldA==", "535 No"),
        ] {
            transcript.sent(Array((command + "\r\n").utf8))
            transcript.received(Array((reply + "\r\n").utf8))
        }
        #expect(transcript.exchanges.map(\.step) == [.greeting, .other, .other, .login, .login])
        #expect(transcript.reply(.login)?.code == 535)
    }

    @Test func `a server without a known login mechanism is reported`() async throws {
        mail.settings.accounts = ["bellhop": "correct horse"]
        mail.settings.mechanisms = ["GSSAPI"]
        #expect(try await failure(["username": "bellhop", "password": "correct horse"]).reason == .unauthenticated)
    }

    @Test func `a mail too large for the server is refused before it is sent`() async throws {
        mail.settings.largest = 100
        let found = try await failure()
        #expect(found.reason == .tooLarge)
        #expect(found.message.contains("552 5.3.4"))
    }

    // MARK: Conversations

    @Test func `mails of one thread refer to its first mail and have its subject, also if a chat began it`() async throws {
        var message = SampleMessage.titled("INC1 begins")
        message.thread = "INC1"
        let first = message
        message.title = [.text("INC1 goes on")]
        let second = message
        let port = try await MailServer(mail).serve()
        let connection = try connection("smtp://127.0.0.1:\(port)")
        let chat = Attempt(number: 1, now: SampleDelivery.now, firstMessage: ["ts": "1.2", "chat": "C1"])
        let began = try await connection.send(first, for: SampleDelivery.notify(first, to: "mail"), attempt: chat)
        #expect(began.conversation?.conversation == "INC1")
        var answer = SampleDelivery.notify(second, to: "mail")
        answer.id.step = StepPath(index: 1)
        let attempt = Attempt(number: 1, now: SampleDelivery.now, firstMessage: began.conversation?.firstMessage)
        #expect(try await connection.send(second, for: answer, attempt: attempt).conversation == nil)
        let mails = try mail.received.map { try MIMEReader($0.bytes) }
        let root = try mails[0].head.field("Message-ID")
        #expect(try mails[1].head.field("Message-ID") != root)
        #expect(try mails[1].head.field("In-Reply-To") == root)
        #expect(try mails[1].head.field("References") == root)
        #expect(try mails.map { try $0.subject } == ["INC1 begins", "INC1 begins"])
        #expect(try mails[1].text.hasPrefix("INC1 goes on"))
    }

    // MARK: Lost connections

    @Test(arguments: SimulatedMail.Cut.allCases)
    func `after a lost connection the same mail is sent again`(_ cut: SimulatedMail.Cut) async throws {
        mail.settings.cut = cut
        // Only the silent server is waited for until the timeout, which leaves a busy machine time for the mail.
        let found = try await failure(["timeout": cut == .silentAfterMail ? 3_000_000 : 60_000_000])
        #expect(found.remedy == .retry(after: nil))
        #expect(found.reason == (cut == .silentAfterMail ? .timeout : .cut), "\(found.message)")
        #expect(found.message.contains("same Message-ID") == (cut != .atOnce))
        #expect(mail.received.count == (cut == .afterMail || cut == .silentAfterMail ? 1 : 0))
        mail.settings.cut = nil
        let port = try await MailServer(mail).serve()
        _ = try await send(attempt: 2, over: try connection("smtp://127.0.0.1:\(port)"))
        #expect(Set(mail.received.map(\.bytes)).count == 1)
    }

    @Test func `a slow server causes a timeout`() async throws {
        mail.settings.delay = 3_600_000
        #expect(try await failure(["timeout": 500_000]).reason == .timeout)
    }

    @Test func `a cancelled attempt ends at once`() async throws {
        mail.settings.cut = .silentAfterMail
        let port = try await MailServer(mail).serve()
        let connection = try connection("smtp://127.0.0.1:\(port)", ["timeout": 3_600_000_000])
        let attempt = Task { await BellhopConnectorsTests.failure { _ = try await send(over: connection) } }
        while mail.received.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        attempt.cancel()
        let found = await attempt.value
        #expect(found?.remedy == .retry(after: nil))
    }

    @Test func `a closed port and an unknown host are reported`() async throws {
        let closed = await BellhopConnectorsTests.failure { _ = try await send(over: try connection("smtp://127.0.0.1:1")) }
        #expect(closed?.message == "mail: No connection to 127.0.0.1:1.")
        #expect(closed?.remedy == .retry(after: nil))
        let unknown = await BellhopConnectorsTests.failure {
            _ = try await send(over: try connection("smtp://no-such-host.invalid"))
        }
        #expect(
            unknown?.message == "mail: There is no host named no-such-host.invalid; DNS does not know it or cannot be reached.")
    }

    @Test func `many mails at once all arrive`() async throws {
        let port = try await MailServer(mail).serve()
        let connection = try connection("smtp://127.0.0.1:\(port)")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try await send(over: connection) } }
            try await group.waitForAll()
        }
        #expect(mail.received.count == 50)
    }

    @Test func `a hostile message stays one mail to its recipients`() async throws {
        let hostile =
            "x\r\n.\r\nMAIL FROM:<evil@example.com>\r\nRCPT TO:<evil@example.com>\r\nDATA\r\nBcc: evil@example.com\r\n\r\n.\r\n"
        let port = try await MailServer(mail).serve()
        _ = try await send(SampleMessage.saying(hostile), over: try connection("smtp://127.0.0.1:\(port)"))
        #expect(mail.received.map(\.recipients) == [["ops@example.com"]])
        let read = try MIMEReader(try #require(mail.received.first).bytes)
        #expect(!read.head.fields.contains { $0.name.lowercased() == "bcc" })
        #expect(try read.text.contains("MAIL FROM:<evil@example.com>"))
    }
}
