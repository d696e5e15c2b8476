import BellhopCore

/// Reads HTML as mail programs and chats do: tags, character references, and nothing that has not been closed.
struct HTMLReader {
    private static let blocks: Set<String> = [
        "html", "head", "body", "p", "h3", "h4", "ul", "ol", "li", "strong", "em", "code", "a", "small", "br", "meta",
    ]
    private static let empty: Set<String> = ["br", "meta"]

    /// - Parameter isMention: whether a link is a mention.
    func read(_ html: String, isMention: (String) -> Bool = { _ in false }) -> ReadText {
        var read = ReadText()
        var open: [(name: String, style: ReadText.Style)] = []
        var style = ReadText.Style()
        var rest = Array(html.unicodeScalars)[...]
        if String(String.UnicodeScalarView(rest.prefix(15))) == "<!DOCTYPE html>" { rest = rest.dropFirst(15) }
        while let scalar = rest.first {
            switch scalar {
            case "<":
                guard let end = rest.firstIndex(of: ">") else {
                    read.surprises.append("an open tag")
                    return read
                }
                let tag = String(String.UnicodeScalarView(rest[(rest.startIndex + 1)..<end]))
                rest = rest[(end + 1)...]
                if tag.hasPrefix("/") {
                    guard let last = open.popLast(), last.name == tag.dropFirst() else {
                        read.surprises.append("a wrong end: \(tag)")
                        return read
                    }
                    style = last.style
                    continue
                }
                let name = String(tag.prefix { $0 != " " })
                guard Self.blocks.contains(name) else {
                    read.surprises.append("an unknown tag: \(tag)")
                    continue
                }
                if !Self.empty.contains(name) { open.append((name, style)) }
                attributes(String(tag.dropFirst(name.count)), of: name, &style, &read, isMention)
                switch name {
                case "strong", "h3", "h4": style.isStrong = true
                case "em", "small": style.isEmphasized = true
                case "code": style.isCode = true
                default: break
                }
            case "&":
                guard let (character, length) = CharacterReference.read(rest) else {
                    read.surprises.append("an unknown reference")
                    return read
                }
                read.add(String(character), style)
                rest = rest.dropFirst(length)
            case ">":
                read.surprises.append("an unescaped >")
                rest = rest.dropFirst()
            default:
                read.add(String(scalar), style)
                rest = rest.dropFirst()
            }
        }
        if !open.isEmpty { read.surprises.append("open tags: \(open.map(\.name))") }
        return read
    }

    /// The lines that a browser shows: line breaks of the source are spaces there.
    static func lines(_ html: String) -> [String] {
        var text = html.replacing("\n", with: " ")
        for end in ["<br>", "</p>", "</li>", "</h3>", "</h4>"] { text = text.replacing(end, with: "\n") }
        text = text.replacing(/<[^>]*>/, with: "")
        return text.split(separator: "\n").map { line in
            String(line.split(separator: " ").joined(separator: " "))
        }.filter { !$0.isEmpty }
    }

    /// Nothing but a link's address, the direction of blocks in a mail, the font and the characters' encoding.
    private func attributes(
        _ text: String, of name: String, _ style: inout ReadText.Style, _ read: inout ReadText, _ isMention: (String) -> Bool
    ) {
        switch (name, text) {
        case (_, ""), ("p", #" dir="auto""#), ("h3", #" dir="auto""#), ("h4", #" dir="auto""#), ("li", #" dir="auto""#),
            ("body", #" style="font-family: sans-serif""#), ("meta", #" charset="utf-8""#):
            return
        case ("a", _) where text.hasPrefix(#" href=""#) && text.hasSuffix("\"") && text.count { $0 == "\"" } == 2:
            let address = TelegramReader.decoded(String(text.dropFirst(7).dropLast()))
            if isMention(address) { read.mentions.append(address) }
            guard address.hasPrefix("https://") || address.hasPrefix("http://") else {
                read.surprises.append("a link to \(address)")
                return
            }
            style.link = address
        default: read.surprises.append("attributes of \(name): \(text)")
        }
    }
}

struct MailHTMLReader: FormatReader {
    func read(_ body: JSON) -> ReadText { HTMLReader().read(body["html"]?.asString ?? "<") }
}

/// The HTML of a message in Matrix, and the mentions that its event has.
struct MatrixReader: FormatReader {
    func read(_ body: JSON) -> ReadText {
        var read = HTMLReader().read(body["formatted_body"]?.asString ?? "<") { $0.hasPrefix("https://matrix.to/") }
        guard let mentions = body["m.mentions"]?.asObject else {
            // Without it, names and @room in the text are mentions.
            read.surprises.append("no m.mentions")
            return read
        }
        read.mentions += mentions["user_ids"]?.asArray?.compactMap(\.asString) ?? []
        if mentions["room"] == true { read.mentions.append("@room") }
        return read
    }
}
