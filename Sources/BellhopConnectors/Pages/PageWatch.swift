import BellhopCore

/// The watched part of a page: which elements, in which form, without the ignored parts.
struct PageWatch: Sendable {
    /// The part of each element to watch.
    private enum Extract: Sendable, Hashable {
        case text
        case html
        case attribute(String)

        var isAttribute: Bool { if case .attribute = self { true } else { false } }
    }

    struct Reading: Sendable, Hashable {
        var title: String
        var text: String
    }

    private let select: Selector?
    private let extract: Extract
    private let ignoredElements: [Selector]
    private let ignoredWords: [TextMasker]

    /// Whether only certain elements are watched: if they are missing, it is another page.
    var isSelective: Bool { select != nil }

    /// The reason why a page with the watched elements cannot be read, as the end of a sentence.
    struct Problem: Error, Sendable, Hashable { var message: String }

    /// The longest text of a page, in bytes.
    static let longest = 1 << 20

    static let settings: [Setting] = [
        Setting(
            "select", .text,
            "The elements to watch, as a CSS selector: main #list > li.open, h1:first; by default the whole page."),
        Setting(
            "extract",
            .either([
                .oneOf(["text", "html"]),
                .record([Setting("attr", .text, required: true, "The attribute to watch.")]),
            ]), default: "text", "Whether to watch their text, their HTML, or an attribute: {attr: href}."),
        Setting(
            "ignore",
            .list(.either([.text, .record([Setting("select", .text, required: true, "The elements, as a CSS selector.")])])),
            "What to ignore because it changes by itself: regular expressions, or {select: …} for elements."),
    ]

    init(_ settings: Settings, source: String) throws(ConnectorError) {
        select = try ConnectorError.reading("select", of: source) { () throws(InvalidValue) in
            try settings.text("select").map { text throws(InvalidValue) in try Selector(text) }
        }
        if let attribute = settings.record("extract")?.text("attr") {
            extract = .attribute(ASCII.lowercased(attribute))
            if select == nil {
                throw ConnectorError(connection: source, setting: "extract", "An attribute needs `select`: its elements.")
            }
        } else {
            extract = settings.text("extract") == "html" ? .html : .text
        }
        var elements: [Selector] = []
        var words: [TextMasker] = []
        try ConnectorError.reading("ignore", of: source) { () throws(InvalidValue) in
            for item in settings.values["ignore"].map({ $0.asArray ?? [$0] }) ?? [] {
                if let text = item["select"]?.asString {
                    elements.append(try Selector(text))
                } else {
                    words.append(try TextMasker(item.asString ?? ""))
                }
            }
        }
        ignoredElements = elements
        ignoredWords = words
    }

    /// Reads a page; nil if it has no watched element.
    func read(_ body: [UInt8], type: String) throws(Problem) -> Reading? {
        let type = ASCII.lowercased(type)
        let bytes = Self.isUTF8(body, type: type) ? body : Self.fromWindows1252(body)
        guard type.isEmpty || type.contains("html") || type.contains("xml") else {
            guard select == nil else { return nil }
            return Reading(title: "", text: masked(Self.lines(String(decoding: bytes, as: UTF8.self))))
        }
        let document = HTMLDocument(bytes, isXML: !type.contains("html") && type.contains("xml"))
        var ignored: Set<Int> = []
        for selector in ignoredElements { ignored.formUnion(selector.matches(in: document)) }
        let places: [Int]
        if let select {
            places = Self.outermost(select.matches(in: document).filter { !ignored.contains($0) }, in: document, extract)
            if places.isEmpty { return nil }
        } else {
            places = [0]
        }
        if let setting = select != nil && !extract.isAttribute && places.contains(where: { document.nodes[$0].isFlat })
            ? "select" : ignored.contains(where: { document.nodes[$0].isFlat }) ? "ignore" : nil
        {
            throw Problem(
                message:
                    "what `\(setting)` matches is nested more than \(HTMLDocument.deepest) elements deep, which cannot be read")
        }
        let text: String
        switch extract {
        case .text: text = HTMLText.text(of: places, in: document, ignoring: ignored)
        case .html: text = places.map { document.html(of: $0, ignoring: ignored) }.joined(separator: "\n")
        case .attribute(let name): text = places.compactMap { document.nodes[$0].attributes[name] }.joined(separator: "\n")
        }
        return Reading(title: document.title, text: masked(text))
    }

    /// Masks the ignored parts. A text that is too long is not masked, because it will be refused.
    private func masked(_ text: String) -> String {
        text.utf8.count > Self.longest ? text : ignoredWords.reduce(text) { $1.masked($0) }
    }

    /// Drops elements within other watched elements, so that their text appears once.
    private static func outermost(_ places: [Int], in document: HTMLDocument, _ extract: Extract) -> [Int] {
        if extract.isAttribute { return places }
        let all = Set(places)
        return places.filter { place in
            var parent = document.nodes[place].parent
            while parent > 0 {
                if all.contains(parent) { return false }
                parent = document.nodes[parent].parent
            }
            return true
        }
    }

    /// The lines of a plain text, without trailing whitespace.
    private static func lines(_ text: String) -> String {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map { line in
            var line = line.unicodeScalars
            while line.last?.properties.isWhitespace == true { line.removeLast() }
            return String(line)
        }
        return lines.joined(separator: "\n")
    }

    /// Whether a page is UTF-8, perhaps with mistakes. Pages in other encodings are read as Windows-1252, in which no two bytes are the same
    /// character: as mistakes of UTF-8, a change from one letter to another would not show.
    private static func isUTF8(_ body: [UInt8], type: String) -> Bool {
        if type.contains("iso-8859-1") || type.contains("windows-1252") { return false }
        if String(validating: body, as: UTF8.self) != nil { return true }
        return type.contains("utf-8") || ASCII.lowercased(String(decoding: body.prefix(1024), as: UTF8.self)).contains("utf-8")
    }

    private static func fromWindows1252(_ bytes: [UInt8]) -> [UInt8] {
        var text = String.UnicodeScalarView()
        for byte in bytes {
            text.append(HTMLEntities.windows1252[UInt32(byte)].flatMap(Unicode.Scalar.init) ?? Unicode.Scalar(byte))
        }
        return Array(String(text).utf8)
    }
}

extension HTMLDocument {
    /// The element and its content as normalized HTML: names in lower case, attributes sorted, one line per element.
    func html(of place: Int, ignoring ignored: Set<Int> = []) -> String {
        if ignored.contains(place) { return "" }
        switch nodes[place].content {
        case .text(let text):
            return Self.escaped(Self.collapsed(text))
        case .element(let name, let attributes):
            let inner = nodes[place].children.map { html(of: $0, ignoring: ignored) }.filter { !$0.isEmpty }
            if place == 0 { return inner.joined(separator: "\n") }
            let written = attributes.sorted { $0.key < $1.key }.map { " \($0.key)=\"\(Self.escaped($0.value))\"" }.joined()
            if HTMLTokenizer.voids.contains(name), !isXML { return "<\(name)\(written)>" }
            let isBlock = HTMLText.blocks.contains(name) && !inner.isEmpty
            let body = isBlock ? "\n" + inner.joined(separator: "\n") + "\n" : inner.joined(separator: " ")
            return "<\(name)\(written)>\(body)</\(name)>"
        }
    }

    private static func escaped(_ text: String) -> String {
        text.replacingScalars(of: "&", with: "&amp;").replacingScalars(of: "<", with: "&lt;")
            .replacingScalars(of: ">", with: "&gt;").replacingScalars(of: "\"", with: "&quot;")
    }
}
