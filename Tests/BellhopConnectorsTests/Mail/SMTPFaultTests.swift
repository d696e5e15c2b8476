import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Mail servers, or attackers in the connection, that break the protocol.
@Suite(.timeLimit(.minutes(5)), .closing) struct SMTPFaultTests: SMTPPractice {
    let mail = SimulatedMail { 0 }
    let notebook = MemoryNotebook()

    private func failure(
        _ replies: [String: String], _ settings: JSON.Object = [:]
    ) async throws -> (failure: Failure?, commands: [String]) {
        let server = try await ScriptedMailServer.serve(replies)
        let connection = try connection("smtp://127.0.0.1:\(server.port)", settings)
        let failure = await BellhopConnectorsTests.failure { _ = try await send(over: connection) }
        if let text = failure?.message {
            #expect(text.hasPrefix("mail") && text.hasSuffix(".") && text.count < 400 && !text.contains(where: \.isNewline))
            #expect(!text.contains("correct horse") && !text.contains("\u{1B}"), "\(text)")
        }
        return (failure, server.commands.all)
    }

    @Test(arguments: [
        ["STARTTLS": "454 4.7.0 TLS not available"], ["STARTTLS": "502 5.5.1 What?"],
        // An attacker removes the offer, or adds replies that would be read after the handshake.
        ["EHLO": "250-odd\r\n250 AUTH PLAIN LOGIN"],
        ["STARTTLS": "220 go\r\n250-odd\r\n250 AUTH PLAIN\r\n235 in\r\n250 ok\r\n250 ok\r\n354 go\r\n250 kept"],
        // Without EHLO there is no STARTTLS.
        ["EHLO": "500 What?"],
    ])
    func `if the required TLS is not available, neither mail nor password is sent`(_ replies: [String: String]) async throws {
        let (failure, commands) = try await failure(
            replies, ["starttls": "required", "username": "bellhop", "password": "correct horse"])
        #expect(failure != nil)
        if replies["EHLO"]?.hasPrefix("250") == true {
            #expect(failure?.reason == .tls && failure?.message.contains("does not offer STARTTLS") == true)
        }
        for word in ["AUTH", "MAIL", "RCPT", "DATA"] { #expect(!commands.contains { $0.hasPrefix(word) }, "\(commands)") }
    }

    @Test(arguments: ["500 What?", "502 5.5.1 not implemented"])
    func `a server without EHLO gets mail by HELO on this machine, and is named where TLS is required`(_ reply: String)
        async throws
    {
        let plain = try await failure(["EHLO": reply], ["username": "bellhop", "password": "correct horse"])
        #expect(plain.failure == nil, "\(plain.failure?.message ?? "")")
        #expect(plain.commands.contains { $0.hasPrefix("HELO ") } && plain.commands.contains { $0.hasPrefix("MAIL FROM:") })
        #expect(!plain.commands.contains { $0.hasPrefix("AUTH") })
        let secured = try await failure(["EHLO": reply], ["starttls": "required"])
        #expect(secured.failure?.remedy == .retry(after: nil))
        #expect(
            secured.failure?.message.contains(
                "does not know EHLO (\(reply)), so it has no STARTTLS, and mail is not sent over the network without TLS.")
                == true, "\(secured.failure?.message ?? "")")
        #expect(!secured.commands.contains { $0.hasPrefix("HELO") })
        // A refusal of this client, and one of both greetings, are no lack of EHLO.
        for replies in [["EHLO": "550 Not you", "HELO": "550 Not you"], ["EHLO": reply, "HELO": "550 Not you"]] {
            let refused = try await failure(replies)
            #expect(refused.failure?.message.contains("answered the connection with 550 Not you.") == true, "\(replies)")
            #expect(refused.failure?.remedy == .giveUp)
        }
    }

    @Test func `a server that offers no login is not reported as logged in to`() async throws {
        let settings: JSON.Object = ["username": "bellhop", "password": "correct horse"]
        for hello in ["500 What?", "250 odd"] {
            let server = try await ScriptedMailServer.serve(["EHLO": hello])
            let findings = try await connection("smtp://127.0.0.1:\(server.port)", settings).examine(ConnectionNeeds())
            #expect(findings.map(\.state) == [.note], "\(findings)")
            #expect(findings[0].text.hasSuffix("but offers no login: it gets mail without `username`"), "\(findings)")
        }
    }

    @Test(arguments: [
        // Another protocol, endless lines, and replies without an end or a code.
        ["": "HTTP/1.1 400 Bad Request"], ["": "220 " + String(repeating: "a", count: 1 << 20)],
        ["": String(repeating: "220-more\r\n", count: 20_000)], ["EHLO": "250-odd\r\n250-and so on"],
        ["DATA": "250 What?"], [".": "what"], [".": "250-kept"],
    ])
    func `a server that breaks the protocol is reported in one sentence, and the mail is sent again`(
        _ replies: [String: String]
    ) async throws {
        let failure = try await failure(replies, ["timeout": 500_000]).failure
        #expect(failure?.remedy == .retry(after: nil), "\(failure?.message ?? "")")
    }

    @Test(arguments: [
        (["MAIL": "550-\u{1B}[31mno\r\n550 never"], Failure.Remedy.giveUp),
        (["RCPT": "450-later\r\n450 please"], .retry(after: nil)),
        ([".": "451-disk\r\n451 full"], .retry(after: nil)), ([".": "421-ending\r\n421 Bye"], .rest(nil)),
    ])
    func `a refusal in several lines counts by its code, and its text is harmless`(
        _ replies: [String: String], _ remedy: Failure.Remedy
    ) async throws {
        let failure = try await failure(replies).failure
        #expect(failure?.remedy == remedy, "\(failure?.message ?? "")")
    }
}
