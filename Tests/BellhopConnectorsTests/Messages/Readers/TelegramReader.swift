import BellhopCore

/// Reads Telegram's HTML mode: its few tags, four character references, and the mentions that Telegram finds in plain words.
struct TelegramReader: FormatReader {
    func read(_ body: JSON) -> ReadText {
        var read = ReadText()
        guard body["parse_mode"] == "HTML", let text = body["text"]?.asString else {
            read.surprises.append("no HTML text")
            return read
        }
        let scalars = Array(text.unicodeScalars)
        var open: [String] = []
        var style = ReadText.Style()
        var styles: [ReadText.Style] = []
        var at = 0
        while at < scalars.count {
            let rest = scalars[at...]
            switch scalars[at] {
            case "<":
                guard let end = rest.firstIndex(of: ">") else {
                    read.surprises.append("an open tag")
                    return read
                }
                let tag = String(String.UnicodeScalarView(scalars[(at + 1)..<end]))
                if tag.hasPrefix("/") {
                    if open.popLast() != String(tag.dropFirst()) { read.surprises.append("a wrong end: \(tag)") }
                    style = styles.popLast() ?? .init()
                } else {
                    styles.append(style)
                    let name = tag.prefix { $0 != " " }
                    open.append(String(name))
                    switch name {
                    case "b": style.isStrong = true
                    case "i": style.isEmphasized = true
                    case "code": style.isCode = true
                    case "a":
                        let address = tag.split(separator: "\"").dropFirst().first.map(String.init) ?? ""
                        if address.hasPrefix("tg://user?id=") { read.mentions.append(address) }
                        style.link = Self.decoded(address)
                    default: read.surprises.append("an unknown tag: \(tag)")
                    }
                }
                at = end + 1
            case "&":
                guard let (character, length) = CharacterReference.read(rest), ["&", "<", ">", "\""].contains(character) else {
                    read.surprises.append("an unknown reference")
                    return read
                }
                read.add(String(character), style)
                at += length
            case ">":
                read.surprises.append("an unescaped >")
                at += 1
            case "@":
                let before = at > 0 ? scalars[at - 1] : " "
                let name = rest.dropFirst().prefix {
                    $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "_")
                }
                if name.count >= 2, !before.properties.isAlphabetic, !style.isCode {
                    read.mentions.append("@" + String(String.UnicodeScalarView(name)))
                    at += name.count + 1
                } else {
                    read.add("@", style)
                    at += 1
                }
            default:
                read.add(String(scalars[at]), style)
                at += 1
            }
        }
        if !open.isEmpty { read.surprises.append("open tags: \(open)") }
        return read
    }

    static func decoded(_ text: String) -> String {
        text.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"").replacing(
            "&#39;", with: "'"
        )
        .replacing("&amp;", with: "&")
    }
}
