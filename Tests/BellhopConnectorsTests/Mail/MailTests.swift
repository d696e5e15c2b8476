import BellhopCore
import Simulator
import Testing

@testable import BellhopConnectors

/// Mails are read back by ``MIMEReader``.
struct MailTests {
    private func mail(
        subject: String = "Disk full", text: String = "Hello", html: String = "<p>Hello</p>", thread: MessageID? = nil
    ) throws -> Mail {
        Mail(
            id: MessageID(delivery: "0123456789abcdef0123456789abcdef", host: "example.com"), time: SampleDelivery.now,
            from: try MailAddress("Bellhop <bellhop@example.com>"),
            to: [try MailAddress("ops@example.com"), try MailAddress("Jörg Müller <j.m@example.org>")], subject: subject,
            thread: thread, list: "mail", rule: "tell-ops", isUrgent: false, text: text, html: html)
    }

    @Test func `a mail has the expected header fields`() throws {
        let thread = MessageID(delivery: "ffff", host: "example.com")
        let read = try MIMEReader(try mail(thread: thread).bytes())
        #expect(
            read.head.fields.map { "\($0.name): \($0.value)" } == [
                "Message-ID: <0123456789abcdef0123456789abcdef@example.com>", "Date: Mon, 05 Jan 2026 09:00:00 +0000",
                "From: Bellhop <bellhop@example.com>", "To: ops@example.com, Jörg Müller <j.m@example.org>", "Subject: Disk full",
                "In-Reply-To: <ffff@example.com>", "References: <ffff@example.com>", "Auto-Submitted: auto-generated",
                "X-Auto-Response-Suppress: All", "List-Id: <mail.bellhop.example.com>", "X-Bellhop-Rule: tell-ops",
                "MIME-Version: 1.0",
                "Content-Type: multipart/alternative; boundary=\"=_bellhop_0123456789abcdef0123456789abcdef\"",
            ])
        #expect(try read.parts.map { try $0.field("Content-Type") } == ["text/plain; charset=utf-8", "text/html; charset=utf-8"])
        #expect(try read.text == "Hello")
        #expect(try read.html == "<p>Hello</p>")
    }

    @Test(arguments: [
        "Plain", "a", "", " leading and trailing ", "two  blanks", "=?UTF-8?B?SGk=?=", "Ünïcödé 🚨 critical", "日本語の件名",
        "a word of " + String(repeating: "x", count: 300), "many " + String(repeating: "words that fold ", count: 30) + "end",
        "👨‍👩‍👧" + String(repeating: "é", count: 100), "\"quoted\" <angle> (comment), comma; semicolon: colon @ at \\ backslash",
        "Bcc: x",
    ])
    func `a subject arrives unchanged, in lines of at most 78 characters`(_ subject: String) throws {
        let bytes = try mail(subject: subject).bytes()
        #expect(try MIMEReader(bytes).subject == subject)
        let head = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
            .prefix { !$0.isEmpty }
        #expect(head.allSatisfy { $0.utf8.count <= MailHeaderValue.lineLength })
    }

    @Test func `a mail without a title has the rule's name as its subject`() {
        let message = Message(title: [], text: [.paragraph([.text("It is late.")])])
        let rendered = EmailRenderer.render(message, from: SampleMessage.origin)
        #expect(rendered["subject"]?.asString == SampleMessage.origin.rule)
    }

    @Test(arguments: [
        "a\r\nBcc: x@evil.example", "a\nb", "a\rb", "a\u{0}b", "\r\n", "a\u{85}b", "a\u{2028}b", "a\u{2029}b", "a\u{9}b",
        "\u{1B}[31m",
        "\r\n.\r\nMAIL FROM:<x@evil.example>",
    ])
    func `a text with a line break or a control character is refused as a header`(_ text: String) throws {
        #expect(throws: MailHeaderValue.Refused.self) { try mail(subject: text).bytes() }
        #expect(throws: InvalidValue.self) { try MailAddress("\(text) <x@example.com>") }
        #expect(throws: InvalidValue.self) { try MailAddress("\(text)@example.com") }
        #expect(throws: InvalidValue.self) { try MailAddress("x@\(text)") }
    }

    @Test(arguments: [
        "one\ntwo", "", "\n", "\n\n\n", "ends in a newline\n", "blanks at the end  \n\tand tabs\t", ".", "..\n.\n",
        "From here\nFrom ", "a=b=3D",
        String(repeating: "long ", count: 1000), String(repeating: "x", count: 998), String(repeating: "ü", count: 500),
        "日本語の本文です。\n" + String(repeating: "漢字", count: 200), String(repeating: ".", count: 400), "nul \u{0} bell \u{7}",
        "--=_bellhop_0123456789abcdef0123456789abcdef--\n", "\u{202E}turned\u{2066}",
    ])
    func `a text arrives unchanged in both parts`(_ text: String) throws {
        let read = try MIMEReader(try mail(text: text, html: text).bytes())
        #expect(try read.text == text)
        #expect(try read.html == text)
        #expect(read.parts.count == 2)
    }

    @Test func `a text mostly of another script is sent in Base64, and a text mostly of ASCII stays readable`() {
        #expect(MailBody(String(repeating: "漢字", count: 50)).encoding == .base64)
        let readable = MailBody("Grüße aus dem Rechenzentrum")
        #expect(readable.encoding == .quotedPrintable)
        #expect(String(decoding: readable.bytes, as: UTF8.self) == "Gr=C3=BC=C3=9Fe aus dem Rechenzentrum\r\n")
    }

    @Test func `arbitrary texts arrive unchanged`() throws {
        var random = SeededRandom(seed: 11)
        func below(_ end: Int) -> Int { Int.random(in: 0..<end, using: &random) }
        for _ in 0..<200 {
            let text = String(
                String.UnicodeScalarView(
                    (0..<below(400)).map { _ in
                        let value: UInt32 =
                            switch below(4) {
                            case 0: UInt32(below(0x80))
                            case 1: [0x3d, 0x2e, 0x20, 0x09, 0x0a, 0x46][below(6)]
                            case 2: UInt32(below(0x3000))
                            default: UInt32(below(0x11_0000))
                            }
                        return Unicode.Scalar(value) ?? "x"
                    })
            ).replacing("\r", with: "")
            let read = try MIMEReader(try mail(subject: MailHeaderValue.isLine(text) ? text : "", text: text, html: text).bytes())
            #expect(Array(try read.text.utf8) == Array(text.utf8))
            if MailHeaderValue.isLine(text) { #expect(try read.subject == text) }
        }
    }

    @Test func `a megabyte arrives unchanged`() throws {
        for text in [String(repeating: "Zeile mit Ümlaut und = und .\n", count: 35_000), String(repeating: "漢", count: 350_000)] {
            let read = try MIMEReader(try mail(text: text).bytes())
            #expect(try read.text == text)
        }
    }

    @Test(arguments: [
        ("ops@example.com", "", "ops@example.com"), ("  ops@Example.COM ", "", "ops@example.com"),
        ("Ops <ops@example.com>", "Ops", "ops@example.com"),
        ("\"Ops, all\" <o.p+s@mail.example.com>", "Ops, all", "o.p+s@mail.example.com"),
        (#""Ops \"24/7\", C:\\" <ops@example.com>"#, #"Ops "24/7", C:\"#, "ops@example.com"),
        ("Müller, Jörg <j.m@example.com>", "Müller, Jörg", "j.m@example.com"),
        ("ops@example.com <ops@example.com>", "ops@example.com", "ops@example.com"),
        ("<x@localhost>", "", "x@localhost"), ("Jörg <j@xn--bcher-kva.example>", "Jörg", "j@xn--bcher-kva.example"),
    ])
    func `an address is read with its name`(_ text: String, _ name: String, _ address: String) throws {
        let read = try MailAddress(text)
        #expect(read.name == name)
        #expect(read.text == address)
    }

    @Test(arguments: [
        "", "ops", "@example.com", "ops@", "a b@example.com", "a@b@example.com", "a..b@example.com", ".a@example.com", "a@-_-",
        "a@b..c", "jörg@example.com", "a@bücher.example", "a@example.com>", "<a@example.com", "a@example.com, b@example.com",
        "A <a@example.com>, B <b@example.com>", "\"A\" <a@example.com>, \"B\" <b@example.com>",
        "a@example.com; B <b@example.com>",
        "<a@example.com> SIZE=1", String(repeating: "a", count: 65) + "@example.com", "a@[127.0.0.1]",
    ])
    func `an invalid address is refused`(_ text: String) {
        #expect(throws: InvalidValue.self) { try MailAddress(text) }
    }

    @Test(arguments: [
        "Ops, all", "a \"quoted\" name", "back\\slash", "Jörg Müller", "日本語の名前がとても長いので折り返されます日本語の名前", "a.b", "x@y",
        String(repeating: "long name ", count: 20) + "z",
    ])
    func `a name before an address arrives unchanged`(_ name: String) throws {
        var mail = try mail()
        mail.from.name = name
        let from = try MIMEReader(try mail.bytes()).from
        let shown = from.dropLast(" <bellhop@example.com>".count)
        let plain =
            shown.first == "\""
            ? String(shown.dropFirst().dropLast()).replacing("\\\"", with: "\"").replacing("\\\\", with: "\\") : String(shown)
        #expect(plain == name)
        #expect(from.hasSuffix(" <bellhop@example.com>"))
    }

    @Test(arguments: [
        ("smtp://mail.example.com", false, "mail.example.com:587"), ("SMTPS://mail.example.com/", true, "mail.example.com:465"),
        ("smtp://127.0.0.1:2525", false, "127.0.0.1:2525"), ("smtp://[::1]", false, "[::1]:587"),
        ("smtp://[::1]:25", false, "[::1]:25"),
        ("smtp://Mail.Example.com:80", false, "mail.example.com:80"),
    ])
    func `a server's address is read with its default port`(_ text: String, _ isSecure: Bool, _ place: String) throws {
        let address = try SMTPAddress(text)
        #expect(address.isSecure == isSecure)
        #expect(address.place == place)
    }

    @Test(arguments: [
        "", "mail.example.com", "http://mail.example.com", "smtp://", "smtp://user:pass@mail.example.com",
        "smtp://mail.example.com:0",
        "smtp://mail.example.com/path", "smtp://mail.example.com:465", "smtp://a b", "smtp://mail\r\nQUIT",
    ])
    func `an invalid address of a mail server is refused without repeating it`(_ text: String) {
        let problem = #expect(throws: InvalidValue.self) { try SMTPAddress(text) }
        #expect(problem?.message.contains("pass@") == false)
        #expect(problem?.message.contains("pass") != true || problem?.message.contains("`password`") == true)
    }
}
