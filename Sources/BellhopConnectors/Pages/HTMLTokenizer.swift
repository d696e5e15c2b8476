import BellhopCore

/// Splits a page into tags and texts. Leaves out comments, declarations and, except in XML, the content of scripts and styles.
struct HTMLTokenizer {
    enum Token: Sendable, Hashable {
        case text(String)
        case start(String, [String: String], isEmpty: Bool)
        case end(String)
    }

    /// Elements without content and without end tag.
    static let voids: Set<String> = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
    ]
    /// Elements whose content is neither markup nor visible text.
    private static let raw: Set<String> = ["script", "style", "noscript", "iframe", "noembed", "noframes", "xmp", "template"]
    /// Elements whose content is text with entities, even if it looks like markup.
    private static let texts: Set<String> = ["title", "textarea"]

    private let bytes: [UInt8]
    private let isXML: Bool
    private var place = 0
    /// The tokens after the latest one: the content of a raw element, and its end tag.
    private var pending: [Token] = []

    init(_ bytes: [UInt8], isXML: Bool = false) { (self.bytes, self.isXML) = (bytes, isXML) }

    mutating func next() -> Token? {
        if !pending.isEmpty { return pending.removeFirst() }
        while place < bytes.count {
            guard bytes[place] == UInt8(ascii: "<") else { return text() }
            if let token = markup() { return token }
        }
        return nil
    }

    private mutating func text() -> Token {
        let start = place
        place += 1
        while place < bytes.count, bytes[place] != UInt8(ascii: "<") { place += 1 }
        return .text(HTMLEntities.decode(bytes[start..<place]))
    }

    /// Reads markup at a `<`; nil if it is a comment or a declaration, or an end tag without a name.
    private mutating func markup() -> Token? {
        if starts("<!--") {
            skip(past: "-->")
            return nil
        }
        if isXML, starts("<![CDATA[") {
            place += 9
            let start = place
            skip(past: "]]>")
            let end = bytes[start..<place].suffix(3).elementsEqual("]]>".utf8) ? place - 3 : place
            return .text(String(decoding: bytes[start..<end], as: UTF8.self))
        }
        guard let byte = peek(1), byte.isASCIILetter || "/!?".utf8.contains(byte) else { return text() }
        if byte == UInt8(ascii: "!") || byte == UInt8(ascii: "?") {
            skip(past: ">")
            return nil
        }
        if byte == UInt8(ascii: "/") {
            place += 2
            let name = self.name()
            skip(past: ">")
            return name.isEmpty ? nil : .end(name)
        }
        place += 1
        return start(name())
    }

    private mutating func start(_ name: String) -> Token {
        let (attributes, isEmpty) = attributes()
        if isEmpty || isXML { return .start(name, attributes, isEmpty: isEmpty) }
        if Self.raw.contains(name) {
            pending = [.end(name)]
            _ = content(until: name)
        } else if Self.texts.contains(name) {
            pending = [.text(HTMLEntities.decode(content(until: name))), .end(name)]
        }
        return .start(name, attributes, isEmpty: isEmpty)
    }

    /// Returns the content before `</name`, and skips that end tag.
    private mutating func content(until name: String) -> ArraySlice<UInt8> {
        let start = place
        let end = Array("</\(name)".utf8)
        while place < bytes.count {
            if bytes[place] == UInt8(ascii: "<"), place + end.count <= bytes.count,
                zip(bytes[place...], end).allSatisfy({ ASCII.lower($0) == $1 })
            {
                let content = bytes[start..<place]
                skip(past: ">")
                return content
            }
            place += 1
        }
        return bytes[start...]
    }

    private mutating func attributes() -> ([String: String], isEmpty: Bool) {
        var attributes: [String: String] = [:]
        while place < bytes.count {
            let byte = bytes[place]
            if byte == UInt8(ascii: ">") {
                place += 1
                return (attributes, false)
            }
            if byte == UInt8(ascii: "/"), peek(1) == UInt8(ascii: ">") {
                place += 2
                return (attributes, true)
            }
            if Self.isBlank(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "=") {
                place += 1
                continue
            }
            let name = self.name()
            guard !name.isEmpty else {
                place += 1
                continue
            }
            let value = self.value()
            if attributes[name] == nil { attributes[name] = value }
        }
        return (attributes, false)
    }

    /// The value of an attribute; empty without one.
    private mutating func value() -> String {
        let afterName = place
        skipBlanks()
        guard place < bytes.count, bytes[place] == UInt8(ascii: "=") else {
            place = afterName
            return ""
        }
        place += 1
        skipBlanks()
        guard place < bytes.count else { return "" }
        let quote = bytes[place]
        if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            place += 1
            let start = place
            while place < bytes.count, bytes[place] != quote { place += 1 }
            defer { place = min(place + 1, bytes.count) }
            return HTMLEntities.decode(bytes[start..<place])
        }
        let start = place
        while place < bytes.count, !Self.isBlank(bytes[place]), bytes[place] != UInt8(ascii: ">") { place += 1 }
        return HTMLEntities.decode(bytes[start..<place])
    }

    private mutating func name() -> String {
        let start = place
        while place < bytes.count, !Self.isBlank(bytes[place]), !"/>=".utf8.contains(bytes[place]) { place += 1 }
        return ASCII.lowercased(String(decoding: bytes[start..<place], as: UTF8.self))
    }

    private mutating func skip(past mark: String) {
        let mark = Array(mark.utf8)
        while place < bytes.count {
            if bytes[place] == mark[0], bytes[place...].starts(with: mark) {
                place += mark.count
                return
            }
            place += 1
        }
    }

    private mutating func skipBlanks() { while place < bytes.count, Self.isBlank(bytes[place]) { place += 1 } }

    private func peek(_ count: Int) -> UInt8? { place + count < bytes.count ? bytes[place + count] : nil }

    private func starts(_ mark: String) -> Bool { bytes[place...].starts(with: mark.utf8) }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0d ~= byte }
}
