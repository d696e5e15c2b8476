import BellhopCore

/// A mail: its header and its text, plain and as HTML. Every attempt sends the same bytes.
struct Mail: Sendable, Hashable {
    var id: MessageID
    var time: Timestamp
    var from: MailAddress
    var to: [MailAddress]
    var subject: String
    /// The first mail of the conversation that this one belongs to.
    var thread: MessageID?
    /// The connection's name, by which mail programs can sort it.
    var list: String
    var rule: String
    var isUrgent: Bool
    var text: String
    var html: String

    /// The whole mail (RFC 5322, RFC 2046) in lines of ASCII of at most 998 characters.
    func bytes() throws(MailHeaderValue.Refused) -> [UInt8] {
        var bytes: [UInt8] = []
        func line(_ text: String) { bytes += Array((text + "\r\n").utf8) }
        for (name, value) in try header() { line(name + ": " + value.lines.joined(separator: "\r\n ")) }
        // No encoded text contains `=_` (RFC 2045, section 6.7).
        let boundary = "=_bellhop_" + id.text.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(32)
        line("MIME-Version: 1.0")
        line("Content-Type: multipart/alternative;\r\n boundary=\"\(boundary)\"")
        line("")
        for (type, text) in [("text/plain", text), ("text/html", html)] {
            let body = MailBody(text)
            line("--" + boundary)
            line("Content-Type: \(type); charset=utf-8")
            line("Content-Transfer-Encoding: " + body.encoding.rawValue)
            line("")
            bytes += body.bytes
        }
        line("--\(boundary)--")
        return bytes
    }

    private func header() throws(MailHeaderValue.Refused) -> [(String, MailHeaderValue)] {
        var fields: [(String, MailHeaderValue)] = [
            ("Message-ID", MailHeaderValue([id])), ("Date", MailHeaderValue(time)),
            ("From", try MailHeaderValue([from], after: 6)), ("To", try MailHeaderValue(to, after: 4)),
            ("Subject", try MailHeaderValue(text: subject, after: 9)),
        ]
        if let thread { fields += [("In-Reply-To", MailHeaderValue([thread])), ("References", MailHeaderValue([thread]))] }
        // Prevents answers from out-of-office programs and trackers (RFC 3834; the second field is Exchange's).
        fields += [
            ("Auto-Submitted", MailHeaderValue("auto-generated")), ("X-Auto-Response-Suppress", MailHeaderValue("All")),
            ("List-Id", MailHeaderValue(list: list, host: from.host)),
            ("X-Bellhop-Rule", try MailHeaderValue(text: rule, after: 16)),
        ]
        if isUrgent { fields.append(("Importance", MailHeaderValue("high"))) }
        return fields
    }
}

/// The limits of a mail's parts, in code points.
enum EmailLimits {
    /// Our own limit: a header line may have 998 octets (RFC 5322, section 2.1.1), but programs show far fewer.
    static let subject = 250
    /// Our own limit, with markup: mail servers accept 10 MB and more, which is too much to read.
    static let text = 100_000
}

/// Renders a message as the subject, the text and the HTML of a mail.
enum EmailRenderer {
    static func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        var text = MessageText(flavour: PlainMarkup(), limit: EmailLimits.text)
        text.longestItem = EmailLimits.text
        var html = MessageText(flavour: HTMLMarkup(blockAttributes: " dir=\"auto\""), limit: EmailLimits.text)
        html.longestItem = EmailLimits.text
        let title = MessageTitle.text(message, origin)
        return [
            // Without a subject, mail programs show that one is missing, and group such mails.
            "subject": .string(DisplayText.cut(title.isEmpty ? DisplayText.line(origin.rule) : title, to: EmailLimits.subject)),
            "text": .string(text.render(message, from: origin) + "\n"),
            "html": .string(page(html.render(message, from: origin))),
        ]
    }

    /// Loads nothing from other servers: no images, no scripts, no styles but the font.
    private static func page(_ body: String) -> String {
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body style=\"font-family: sans-serif\">\n\(body)\n</body></html>\n"
    }
}
