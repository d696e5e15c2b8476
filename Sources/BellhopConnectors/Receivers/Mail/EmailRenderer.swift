import BellhopCore

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
        var html = MessageText(flavour: HTMLMarkup(), limit: EmailLimits.text)
        html.longestItem = EmailLimits.text
        return [
            "subject": .string(DisplayText.cut(MessageTitle.text(message, origin), to: EmailLimits.subject)),
            "text": .string(text.render(message, from: origin) + "\n"),
            "html": .string(page(html.render(message, from: origin))),
        ]
    }

    /// Loads nothing from other servers: no images, no scripts, no styles but the font.
    private static func page(_ body: String) -> String {
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body style=\"font-family: sans-serif\">\n\(body)\n</body></html>\n"
    }
}
