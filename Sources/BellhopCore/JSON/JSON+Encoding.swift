extension JSON {
    /// How a value is written.
    public struct Style: Sendable, Hashable {
        /// One member or element a line, indented by two spaces.
        public var pretty: Bool
        /// Members in the order of their keys' Unicode scalars, so that equal values are equal bytes.
        public var sorted: Bool

        public init(pretty: Bool = false, sorted: Bool = false) {
            self.pretty = pretty
            self.sorted = sorted
        }

        public static let compact = Style()
        public static let pretty = Style(pretty: true)
        public static let sorted = Style(sorted: true)
    }

    /// The value as UTF-8. A double that is not finite is written as `null`; U+2028 and U+2029 are escaped, so that the text may
    /// stand in a script.
    public func encoded(_ style: Style = .compact) -> [UInt8] {
        var bytes: [UInt8] = []
        encode(into: &bytes, style)
        return bytes
    }

    /// Appends the value as UTF-8 to `bytes`; see ``encoded(_:)``.
    public func encode(into bytes: inout [UInt8], _ style: Style = .compact) {
        var encoder = JSONEncoding(style: style)
        swap(&encoder.bytes, &bytes)
        encoder.write(self)
        swap(&encoder.bytes, &bytes)
    }

    /// The value as one line of text.
    public var text: String { text(.compact) }

    /// The value as text in this style.
    public func text(_ style: Style) -> String { String(decoding: encoded(style), as: UTF8.self) }
}

extension JSON: CustomStringConvertible {
    public var description: String { text }
}

/// The work of writing one value.
struct JSONEncoding {
    var bytes: [UInt8] = []
    let style: JSON.Style
    private var depth = 0

    init(style: JSON.Style) { self.style = style }

    mutating func write(_ value: JSON) {
        switch value {
        case .null: put("null")
        case .bool(let value): put(value ? "true" : "false")
        case .int(let value): put(value.description)
        case .double(let value): put(value.isFinite ? value.description : "null")
        case .string(let value): write(value)
        case .array(let elements):
            list(elements, open: "[", close: "]") { $0.write($1) }
        case .object(let object):
            list(style.sorted ? object.sorted() : object, open: "{", close: "}") { encoder, member in
                encoder.write(member.key)
                encoder.put(encoder.style.pretty ? ": " : ":")
                encoder.write(member.value)
            }
        }
    }

    private mutating func list<Items: Collection>(
        _ items: Items, open: StaticString, close: StaticString, each: (inout Self, Items.Element) -> Void
    ) {
        put(open)
        depth += 1
        var isFirst = true
        for item in items {
            if !isFirst { put(",") }
            isFirst = false
            newLine()
            each(&self, item)
        }
        depth -= 1
        if !isFirst { newLine() }
        put(close)
    }

    private mutating func newLine() {
        guard style.pretty else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * 2))
    }

    private mutating func put(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    private mutating func put(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.makeContiguousUTF8()
        if Self.isPlain(text.utf8.span) {
            bytes.append(contentsOf: text.utf8)
        } else {
            for scalar in text.unicodeScalars { write(scalar) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Whether nothing needs an escape; 0xe2 is how U+2028 and U+2029 begin.
    private static func isPlain(_ bytes: Span<UInt8>) -> Bool {
        for place in bytes.indices {
            let byte = bytes[place]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0xe2 { return false }
        }
        return true
    }

    private mutating func write(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": put("\\\"")
        case "\\": put("\\\\")
        case "\n": put("\\n")
        case "\r": put("\\r")
        case "\t": put("\\t")
        case "\u{8}": put("\\b")
        case "\u{c}": put("\\f")
        case "\u{2028}": put("\\u2028")
        case "\u{2029}": put("\\u2029")
        case "\0"..<" ":
            put(scalar.value < 16 ? "\\u000" : "\\u00")
            put(String(scalar.value, radix: 16))
        default: bytes.append(contentsOf: scalar.utf8)
        }
    }
}
