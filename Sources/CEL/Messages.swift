// The messages that several places give about an expression's text. Those of errors at run time are in
// EvaluationError+Messages.swift. Codes are stable over versions.

/// Messages about functions' arguments.
enum Messages {
    static let severalGroups = "the pattern has several groups in parentheses; make all but one of them (?:…)"
    static func badReplacement(_ text: String) -> String {
        "\(Value.quoted(text)) is not a replacement: a backslash must be followed by a backslash or a group number"
    }

    static func wrongClause(_ clause: UnicodeScalar, _ value: Value) -> String {
        let takes: [UnicodeScalar: String] = [
            "s":
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
            "d": "decimal clause can only be used on integers", "f": "fixed-point clause can only be used on doubles",
            "e": "scientific clause can only be used on doubles", "b": "only integers and bools can be formatted as binary",
            "o": "octal clause can only be used on integers",
        ]
        let reason = takes[clause] ?? "only integers, byte buffers, and strings can be formatted as hex"
        return "error during formatting: \(reason), was given \(value.typeName)"
    }

    static let mappedNotAllowed = "IPv4-mapped IPv6 address is not allowed"
}

extension Token {
    /// The token as shown in a message.
    var text: String {
        switch kind {
        case .int(let value): String(value)
        case .uint(let value): "\(value)u"
        case .double(let value): Numbers.text(value)
        case .string: "a string"
        case .bytes: "a bytes literal"
        case .identifier(let name), .quoted(let name): "`\(name)`"
        case .symbol(let symbol): "`\(symbol.rawValue)`"
        case .end: "the end"
        }
    }
}

// MARK: Syntax

extension Issue {
    static func expressionTooDeep(limit: Int, at range: Range<Int>) -> Self {
        Self("expression-too-deep", "the expression is nested more than \(limit) deep", at: range)
    }

    static func unexpected(_ token: Token, expected: String?) -> Self {
        let message = token.kind == .end ? "the expression ends too early" : "\(token.text) does not belong here"
        return Self("syntax", message, at: token.range, help: expected.map { "expected \($0)" })
    }

    static func strangeCharacter(_ text: String, at range: Range<Int>) -> Self {
        let corrections = [
            "=": "compare with `==`", "&": "write `&&`", "|": "write `||`", ";": "an expression has no `;`",
            "$": "inside an expression, write names without `${{`", "≤": "write `<=`", "≥": "write `>=`", "≠": "write `!=`",
            "–": "write `-`", "—": "write `-`", "×": "write `*`", "÷": "write `/`",
        ]
        let scalar = text.unicodeScalars.first
        if "“”„‟‘’‚‛«»".unicodeScalars.contains(where: { $0 == scalar }) {
            return Self("strange-character", "`\(text)` is not allowed here", at: range, help: "use straight quotes")
        }
        if let scalar, scalar.properties.isWhitespace || scalar.properties.generalCategory == .format {
            let number = String(scalar.value, radix: 16, uppercase: true)
            let name = scalar.properties.name.map { "a " + $0.lowercased() } ?? "an invisible character"
            let message = "\(name) (U+\(String(repeating: "0", count: max(0, 4 - number.count)))\(number)) is not allowed here"
            return Self("strange-character", message, at: range, help: "write an ordinary blank, or delete it")
        }
        let isLetter = scalar?.properties.isAlphabetic ?? false
        return Self(
            "strange-character", "`\(text)` is not allowed here", at: range,
            help: corrections[text]
                ?? (isLetter ? "a name has only the letters a to z, digits and `_`; a text needs quotes" : nil))
    }

    static func unterminatedText(isTriple: Bool, at range: Range<Int>) -> Self {
        let help = isTriple ? nil : "close the quote, or use three quotes for a text of several lines"
        return Self("unterminated-string", "the string is not closed", at: range, help: help)
    }

    static func badEscape(at range: Range<Int>) -> Self {
        let help = "write `\\\\` for a backslash, or r\"…\" for a text without escapes"
        return Self("bad-escape", "unknown escape in a string", at: range, help: help)
    }

    static func numberTooLarge(at range: Range<Int>) -> Self {
        Self("number-too-large", "the number does not fit 64 bits", at: range)
    }

    static func badFieldName(at range: Range<Int>) -> Self {
        let message = "a name in backticks may contain letters, digits, `_`, `.`, `-`, `/` and blanks"
        return Self("bad-field-name", message, at: range, help: "use [\"…\"] for other names")
    }

    static func notAVariable(macro: String, at range: Range<Int>) -> Self {
        Self("not-a-variable", "\(macro)() needs the name of a variable here", at: range, help: "such as \(macro)(t, …)")
    }
}

// MARK: Names and types

extension Issue {
    static func unknownName(_ name: String, suggestion: String?, at range: Range<Int>) -> Self {
        Self("unknown-name", "unknown name `\(name)`", at: range, help: didYouMean(suggestion))
    }

    static func unknownFunction(_ name: String, suggestion: String?, at range: Range<Int>) -> Self {
        Self("unknown-function", "unknown function `\(name)`", at: range, help: didYouMean(suggestion))
    }

    static func unknownField(_ name: String, of type: CELType, suggestion: String?, at range: Range<Int>) -> Self {
        Self("unknown-field", "no field `\(name)` on \(type)", at: range, help: didYouMean(suggestion))
    }

    static func noFields(of type: CELType, at range: Range<Int>) -> Self {
        Self("no-fields", "\(article(type)) has no fields", at: range)
    }

    static func noSuchType(_ name: String, at range: Range<Int>) -> Self {
        Self(
            "unknown-type", "there is no type `\(name)` to make an object of", at: range, help: "write a map: {\"field\": value}")
    }

    static func notIterable(_ macro: String, _ type: CELType, at range: Range<Int>) -> Self {
        Self("not-a-list", "\(macro)() needs a list or a map, but this is \(article(type))", at: range)
    }

    static func wrongType(_ what: String, needs: CELType, got: CELType, at range: Range<Int>) -> Self {
        Self("wrong-type", "\(what) must be \(article(needs)), but this is \(article(got))", at: range)
    }

    /// A comparison of types that are never equal.
    static func incomparable(_ symbol: String, _ left: CELType, _ right: CELType, fix: String?, at range: Range<Int>) -> Self {
        let message = "`\(symbol)` cannot compare \(article(left)) with \(article(right))"
        return Self("incomparable-types", message, at: range, help: fix.map { "write \($0)" })
    }

    static func noOperator(_ symbol: String, _ operands: [CELType], fix: String?, at range: Range<Int>) -> Self {
        let types = operands.map { article($0) }.joined(separator: " and ")
        return Self("no-such-operator", "`\(symbol)` does not work on \(types)", at: range, help: fix.map { "write \($0)" })
    }

    static func noOverload(_ name: String, target: CELType?, arguments: [CELType], choices: [String], at range: Range<Int>)
        -> Self
    {
        let given = arguments.map(\.description).joined(separator: ", ")
        let call = (target.map { "\($0)." } ?? "") + "\(name)(\(given))"
        let help = choices.isEmpty ? nil : "use " + choices.joined(separator: ", ")
        return Self("no-such-overload", "there is no \(call)", at: range, help: help)
    }

    static func badArgument(_ message: String, help: String?, at range: Range<Int>) -> Self {
        Self("invalid-argument", message, at: range, help: help)
    }

    private static func didYouMean(_ name: String?) -> String? { name.map { "did you mean `\($0)`?" } }

    private static func article(_ type: CELType) -> String {
        switch type.unwrapped {
        case .null, .bytes: "\(type)"
        case .int, .opaque, .optional: "an \(type)"
        case .dyn: "any value"
        default: "a \(type)"
        }
    }
}
