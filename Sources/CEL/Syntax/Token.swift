/// A token of an expression and its place, in UTF-8 offsets.
struct Token: Sendable {
    enum Kind: Sendable, Equatable {
        case int(UInt64)
        case uint(UInt64)
        case double(Double)
        case string(String)
        case bytes([UInt8])
        case identifier(String)
        /// A field name in backticks.
        case quoted(String)
        case symbol(Symbol)
        case end
    }

    enum Symbol: String, Sendable, CaseIterable {
        case plus = "+", minus = "-", star = "*", slash = "/", percent = "%"
        case equal = "==", unequal = "!=", less = "<", lessOrEqual = "<=", more = ">", moreOrEqual = ">="
        case and = "&&", or = "||", not = "!", question = "?", colon = ":", comma = ",", dot = "."
        case openParenthesis = "(", closeParenthesis = ")", openBracket = "[", closeBracket = "]"
        case openBrace = "{", closeBrace = "}"

        /// The symbols by their one or two bytes.
        static let byBytes = Dictionary(
            uniqueKeysWithValues: allCases.map { symbol in (symbol.rawValue.utf8.reduce(0) { $0 << 8 | UInt16($1) }, symbol) })
    }

    let kind: Kind
    let range: Range<Int>
}
