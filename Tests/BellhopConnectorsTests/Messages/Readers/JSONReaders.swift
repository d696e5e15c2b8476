import BellhopCore

/// Reads Discord's embeds, whose titles, descriptions and fields are Markdown.
struct DiscordReader: FormatReader {
    func read(_ body: JSON) -> ReadText {
        var read = ReadText()
        let inline = ChatMarkdownReader(dialect: .discord) { rest, _ in Self.mention(rest) }
        let content = inline.read(body["content"]?.asString ?? "")
        read.mentions = content.mentions
        if !content.marks.isEmpty { read.surprises.append("words beside the mentions") }
        guard let allowed = body["allowed_mentions"], allowed["parse"] != nil else {
            read.surprises.append("mentions are not restricted")
            return read
        }
        for embed in body["embeds"]?.asArray ?? [] {
            for name in ["title", "description"] { add(inline.read(embed[name]?.asString ?? ""), to: &read) }
            for field in embed["fields"]?.asArray ?? [] {
                add(inline.read(field["name"]?.asString ?? ""), to: &read)
                add(inline.read(field["value"]?.asString ?? ""), to: &read)
            }
            read.add(embed["footer"]?["text"]?.asString ?? "")
        }
        return read
    }

    /// A mention in an embed does not notify, but is shown as a mention.
    private func add(_ other: ReadText, to read: inout ReadText) {
        var other = other
        other.surprises += other.mentions.map { "a mention in an embed: \($0)" }
        other.mentions = []
        read.add(other)
    }

    private static func mention(_ rest: ArraySlice<Unicode.Scalar>) -> Int? {
        let text = String(String.UnicodeScalarView(rest.prefix(40)))
        for word in ["@everyone", "@here"] where text.hasPrefix(word) { return word.unicodeScalars.count }
        guard text.hasPrefix("<"), let end = text.firstIndex(of: ">") else { return nil }
        let inner = text[text.index(after: text.startIndex)..<end]
        let isMention = ["@", "#", "t:", ":", "a:", "/"].contains { inner.hasPrefix($0) } && inner.contains(where: \.isNumber)
        return isMention ? inner.unicodeScalars.count + 2 : nil
    }
}

struct MattermostReader: FormatReader {
    func read(_ body: JSON) -> ReadText {
        let text = body["text"]?.asString ?? ""
        var read = ChatMarkdownReader(dialect: .mattermost, mention: Self.mention).read(text)
        // An incoming webhook first translates texts that look like Slack's mentions.
        for form in ["<!", "<@", "<http", "<#"] where text.contains(form) { read.surprises.append("Slack's \(form)") }
        // Its mobile clients follow CommonMark.
        let mobile = CommonMarkReader(mention: { Self.mention($0, nil) }).read(text)
        if mobile.marks != read.marks { read.surprises.append("CommonMark reads it otherwise: \(mobile)") }
        return read
    }

    private static func mention(_ rest: ArraySlice<Unicode.Scalar>, _ before: Unicode.Scalar?) -> Int? {
        guard rest.first == "@", before.map({ !$0.properties.isAlphabetic && $0.properties.numericType == nil }) ?? true else {
            return nil
        }
        let name = rest.dropFirst().prefix {
            $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil || ".-_".unicodeScalars.contains($0))
        }
        return name.isEmpty ? nil : name.count + 1
    }
}

struct GoogleChatReader: FormatReader {
    func read(_ body: JSON) -> ReadText {
        var read = CommonMarkReader { rest in
            guard rest.starts(with: "<users/".unicodeScalars), let end = rest.firstIndex(of: ">") else { return nil }
            return end - rest.startIndex + 1
        }.read(body["text"]?.asString ?? "")
        if body["markupSyntax"] != "MARKUP_SYNTAX_MARKDOWN" { read.surprises.append("not Markdown") }
        return read
    }
}

/// Reads an Adaptive Card: runs are plain text, and everything else that shows text is Markdown.
struct TeamsReader: FormatReader {
    func read(_ body: JSON) -> ReadText {
        var read = ReadText()
        let card = body["attachments"]?[0]?["content"] ?? .null
        let entities = (card["msteams"]?["entities"]?.asArray ?? []).compactMap { $0["text"]?.asString }
        for element in card["body"]?.asArray ?? [] {
            switch element["type"]?.asString {
            case "RichTextBlock":
                for run in element["inlines"]?.asArray ?? [] {
                    if run["type"] != "TextRun" || run["text"]?.asString?.isEmpty ?? true {
                        read.surprises.append("not a run with text")
                    }
                    read.add(run["text"]?.asString ?? "", Self.style(run))
                }
            case "TextBlock":
                let words = (element["text"]?.asString ?? "").split(separator: " ").map(String.init)
                read.mentions += words
                if words != entities { read.surprises.append("a text block besides the mentions: \(words)") }
            default: read.surprises.append("an unknown element: \(element)")
            }
        }
        for action in card["actions"]?.asArray ?? [] {
            read.add(action["title"]?.asString ?? "", .init(link: action["url"]?.asString))
        }
        return read
    }

    private static func style(_ run: JSON) -> ReadText.Style {
        ReadText.Style(
            isStrong: run["weight"] == "Bolder", isEmphasized: run["italic"] == true, isCode: run["fontType"] == "Monospace",
            link: run["selectAction"]?["url"]?.asString)
    }
}

/// Reads Block Kit: plain texts and the elements of rich text.
struct SlackReader: FormatReader {
    func read(_ body: JSON) -> ReadText {
        var read = ReadText()
        for name in ["parse", "link_names", "mrkdwn"] where body[name] == nil { read.surprises.append("\(name) is not set") }
        let text = body["text"]?.asString ?? ""
        if text.contains("<") || text.contains(">") { read.surprises.append("markup in the text for notifications") }
        for block in body["blocks"]?.asArray ?? [] { add(block, to: &read) }
        return read
    }

    private func add(_ json: JSON, to read: inout ReadText) {
        switch json["type"]?.asString {
        case "header": add(json["text"] ?? .null, to: &read)
        case "plain_text": read.add(json["text"]?.asString ?? "")
        case "context", "actions", "rich_text", "rich_text_section", "rich_text_list":
            for element in json["elements"]?.asArray ?? [] { add(element, to: &read) }
        case "button": read.add(json["text"]?["text"]?.asString ?? "", .init(link: json["url"]?.asString))
        case "text": read.add(json["text"]?.asString ?? "", style(json))
        case "link": read.add(json["text"]?.asString ?? "", .init(link: json["url"]?.asString))
        case "user": read.mentions.append("<@\(json["user_id"]?.asString ?? "")>")
        case "usergroup": read.mentions.append("<!subteam^\(json["usergroup_id"]?.asString ?? "")>")
        case "broadcast": read.mentions.append("<!\(json["range"]?.asString ?? "")>")
        default: read.surprises.append("an unknown element: \(json)")
        }
    }

    private func style(_ json: JSON) -> ReadText.Style {
        let style = json["style"] ?? .null
        return ReadText.Style(
            isStrong: style["bold"] == true, isEmphasized: style["italic"] == true, isCode: style["code"] == true)
    }
}
