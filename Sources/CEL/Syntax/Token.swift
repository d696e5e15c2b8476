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

    enum Symbol: String, Sendable {
        case plus = "+", minus = "-", star = "*", slash = "/", percent = "%"
        case equal = "==", unequal = "!=", less = "<", lessOrEqual = "<=", more = ">", moreOrEqual = ">="
        case and = "&&", or = "||", not = "!", question = "?", colon = ":", comma = ",", dot = "."
        case openParenthesis = "(", closeParenthesis = ")", openBracket = "[", closeBracket = "]"
        case openBrace = "{", closeBrace = "}"
    }

    let kind: Kind
    let range: Range<Int>
}
