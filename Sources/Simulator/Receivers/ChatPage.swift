import BellhopCore

/// The page `/simulator/chats`: the messages in the chats, as a person would see them, the latest first.
///
/// Each message is a separate document without scripts, because its text is not trusted.
struct ChatPage {
    let simulation: Simulation

    var html: String {
        var articles = simulation.chats.messages.map { message in
            let more =
                (message.thread.map { ", in thread \($0)" } ?? "") + (message.edits > 0 ? ", edited \(message.edits) times" : "")
            return article(message.service, "\(message.place)\(more)", ChatHTML.page(message.service, message.body))
        }
        articles += simulation.receivers.received.filter { $0.isAccepted && $0.request.segments.first == "hooks" }.map {
            message in
            article("slack", message.receiver, ChatHTML.page("slack", (try? JSON.parse(message.request.body)) ?? .null))
        }
        return PageHTML.page("Chats", [PageHTML.section("Chats", articles)])
    }

    private func article(_ service: String, _ about: String, _ page: String) -> String {
        PageHTML.article(service, about, PageHTML.frame(page))
    }
}

/// The building blocks of the pages of receivers.
enum PageHTML {
    static func page(_ title: String, _ sections: [String]) -> String {
        """
        <!DOCTYPE html><html><head><meta charset="utf-8"><title>\(escaped(title))</title><style>
        body { font-family: sans-serif; max-width: 60em; margin: 2em auto }
        article { border: 1px solid #ccc; border-radius: 4px; padding: 0.5em 1em; margin: 0.5em 0 }
        article.closed { opacity: 0.5 } pre { white-space: pre-wrap } iframe { border: 0; width: 100%; height: 16em }
        small { color: #666 }</style></head><body>
        \(sections.joined(separator: "\n"))
        </body></html>

        """
    }

    /// The latest article first.
    static func section(_ title: String, _ articles: [String]) -> String {
        "<h2>\(escaped(title))</h2>\n"
            + (articles.isEmpty ? "<p><small>nothing yet</small></p>" : articles.reversed().joined(separator: "\n"))
    }

    static func article(_ title: String, _ about: String, _ body: String, isClosed: Bool = false) -> String {
        "<article\(isClosed ? " class=\"closed\"" : "")><h3>\(escaped(title))</h3><small>\(escaped(about))</small>\n\(body)</article>"
    }

    static func pre(_ text: String) -> String { "<pre>\(escaped(text))</pre>" }

    /// HTML from others, without scripts and without this page's origin.
    static func frame(_ html: String) -> String { "<iframe sandbox srcdoc=\"\(escaped(html))\"></iframe>" }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;").replacing(
            "\"", with: "&quot;")
    }
}

/// A chat's message as HTML. Texts are escaped; only the format's own markup becomes tags.
enum ChatHTML {
    static func page(_ service: String, _ body: JSON) -> String {
        let content =
            switch service {
            case "telegram": (body["text"]?.asString ?? "").replacing("\n", with: "<br>")
            case "teams": teams(body["attachments"]?[0]?["content"] ?? .null)
            case "slack": (body["blocks"]?.asArray ?? []).map(slack).joined(separator: "\n")
            case "discord": discord(body)
            default: markdown(body["text"]?.asString ?? "")
            }
        return "<meta charset=\"utf-8\"><body style=\"font-family: sans-serif\">\(content)"
    }

    private static func discord(_ body: JSON) -> String {
        let embeds = (body["embeds"]?.asArray ?? []).map { embed in
            let colour = String(0x100_0000 + (embed["color"]?.asInt ?? 0), radix: 16).dropFirst()
            let fields = (embed["fields"]?.asArray ?? []).map { field in
                "<p><b>\(markdown(field["name"]?.asString ?? ""))</b><br>\(markdown(field["value"]?.asString ?? ""))</p>"
            }
            return """
                <div style="border-left: 4px solid #\(colour); padding-left: 1em"><h4>\(markdown(embed["title"]?.asString ?? ""))</h4>
                \(markdown(embed["description"]?.asString ?? ""))\(fields.joined())
                <small>\(PageHTML.escaped(embed["footer"]?["text"]?.asString ?? ""))</small></div>
                """
        }
        return "<p>\(markdown(body["content"]?.asString ?? ""))</p>" + embeds.joined()
    }

    private static func teams(_ card: JSON) -> String {
        let body = (card["body"]?.asArray ?? []).map { element in
            let runs = (element["inlines"]?.asArray ?? []).map { run in
                styled(
                    run["text"]?.asString ?? "", isBold: run["weight"] == "Bolder", isItalic: run["italic"] == true,
                    isCode: run["fontType"] == "Monospace", link: run["selectAction"]?["url"]?.asString)
            }
            return "<div>\(runs.joined())\(PageHTML.escaped(element["text"]?.asString ?? ""))</div>"
        }
        let actions = (card["actions"]?.asArray ?? []).map { action in
            "<p>" + styled(action["title"]?.asString ?? "", link: action["url"]?.asString) + "</p>"
        }
        return (body + actions).joined(separator: "\n")
    }

    private static func slack(_ block: JSON) -> String {
        let inner = (block["elements"]?.asArray ?? []).map(slack).joined()
        switch block["type"]?.asString {
        case "header": return "<h3>\(PageHTML.escaped(block["text"]?["text"]?.asString ?? ""))</h3>"
        case "rich_text_list":
            let items = (block["elements"]?.asArray ?? []).map { "<li>\(slack($0))</li>" }.joined()
            return block["style"] == "ordered" ? "<ol>\(items)</ol>" : "<ul>\(items)</ul>"
        case "button": return styled(block["text"]?["text"]?.asString ?? "", link: block["url"]?.asString)
        case "text", "link":
            let style = block["style"] ?? .null
            return styled(
                block["text"]?.asString ?? "", isBold: style["bold"] == true, isItalic: style["italic"] == true,
                isCode: style["code"] == true, link: block["url"]?.asString)
        case "plain_text", "mrkdwn": return "<small>\(PageHTML.escaped(block["text"]?.asString ?? ""))</small>"
        case "user": return "<mark>@\(PageHTML.escaped(block["user_id"]?.asString ?? ""))</mark>"
        case "usergroup": return "<mark>@\(PageHTML.escaped(block["usergroup_id"]?.asString ?? ""))</mark>"
        case "broadcast": return "<mark>@\(PageHTML.escaped(block["range"]?.asString ?? ""))</mark>"
        default: return "<div>\(inner)</div>"
        }
    }

    private static func styled(
        _ text: String, isBold: Bool = false, isItalic: Bool = false, isCode: Bool = false, link: String? = nil
    ) -> String {
        var html = PageHTML.escaped(text).replacing("\n", with: "<br>")
        if isCode { html = "<code>\(html)</code>" }
        if isItalic { html = "<i>\(html)</i>" }
        if isBold { html = "<b>\(html)</b>" }
        if let link { html = "<a href=\"\(PageHTML.escaped(link))\" target=\"_blank\">\(html)</a>" }
        return html
    }

    /// The Markdown that chats share: bold, emphasis, code, links, backslashes and character references.
    static func markdown(_ text: String) -> String {
        var html = ""
        var open: [String] = []
        func toggle(_ tag: String) {
            if open.last == tag {
                open.removeLast()
                html += "</\(tag)>"
            } else {
                open.append(tag)
                html += "<\(tag)>"
            }
        }
        var rest = text.unicodeScalars[...]
        while let scalar = rest.first {
            if scalar == "\\", let next = rest.dropFirst().first, next.isASCII, !next.properties.isAlphabetic, next.value > 0x20 {
                html += PageHTML.escaped(String(next))
                rest = rest.dropFirst(2)
            } else if rest.starts(with: "***".unicodeScalars) {
                if open.last == "i" {
                    toggle("i")
                    toggle("b")
                } else {
                    toggle("b")
                    toggle("i")
                }
                rest = rest.dropFirst(3)
            } else if rest.starts(with: "**".unicodeScalars) {
                toggle("b")
                rest = rest.dropFirst(2)
            } else if scalar == "*" {
                toggle("i")
                rest = rest.dropFirst()
            } else if scalar == "`", let end = rest.dropFirst().firstIndex(of: "`") {
                html += "<code>\(PageHTML.escaped(String(rest[..<end].dropFirst())))</code>"
                rest = rest[rest.index(after: end)...]
            } else if scalar == "[" {
                toggle("u")
                rest = rest.dropFirst()
            } else if rest.starts(with: "](".unicodeScalars), let end = rest.firstIndex(of: ")") {
                toggle("u")
                html += " <small>\(PageHTML.escaped(String(rest[..<end].dropFirst(2))))</small>"
                rest = rest[rest.index(after: end)...]
            } else if scalar == "&", let end = rest.prefix(8).firstIndex(of: ";"), isReference(rest[..<end].dropFirst()) {
                html += String(rest[...end])
                rest = rest[rest.index(after: end)...]
            } else {
                html += scalar == "\n" ? "<br>" : PageHTML.escaped(String(scalar))
                rest = rest.dropFirst()
            }
        }
        return html + open.reversed().map { "</\($0)>" }.joined()
    }

    private static func isReference(_ name: Substring.UnicodeScalarView) -> Bool {
        !name.isEmpty
            && name.allSatisfy { $0 == "#" || $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil) }
    }
}
