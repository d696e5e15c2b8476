/// The bytes with a meaning in YAML.
enum ASCII {
    static let tab = UInt8(ascii: "\t")
    static let newline = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    static let hash = UInt8(ascii: "#")
    static let colon = UInt8(ascii: ":")
    static let comma = UInt8(ascii: ",")
    static let dash = UInt8(ascii: "-")
    static let question = UInt8(ascii: "?")
    static let exclamation = UInt8(ascii: "!")
    static let ampersand = UInt8(ascii: "&")
    static let dollar = UInt8(ascii: "$")
    static let quote = UInt8(ascii: "'")
    static let doubleQuote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")
    static let bar = UInt8(ascii: "|")
    static let greater = UInt8(ascii: ">")
    static let openBrace = UInt8(ascii: "{")
    static let closeBrace = UInt8(ascii: "}")
    static let openBracket = UInt8(ascii: "[")
    static let closeBracket = UInt8(ascii: "]")
    static let openParenthesis = UInt8(ascii: "(")
    static let closeParenthesis = UInt8(ascii: ")")

    static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    static func isBreak(_ byte: UInt8) -> Bool { byte == newline || byte == carriageReturn }

    static func isSpace(_ byte: UInt8) -> Bool { isBlank(byte) || isBreak(byte) }

    static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    static func isWord(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == UInt8(ascii: "_") || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
    }

    /// A character of a plain word or a key such as `post-to-chat`.
    static func isKey(_ byte: UInt8) -> Bool { isWord(byte) || byte == dash }
}

extension Optional where Wrapped == UInt8 {
    /// A blank, a line break, or the end of the text.
    var isBlankOrEnd: Bool { map(ASCII.isSpace) ?? true }
}
