// The messages about an expression's text. Those of errors at run time are in EvaluationError+Messages.swift. Codes are stable over
// versions.

/// Messages about functions' arguments.
enum Messages {
    static let patternHelp = "the syntax is RE2's: no look-around, no back-references"
    static let severalGroups = "the pattern has several groups in parentheses; make all but one of them (?:…)"
    static func badReplacement(_ text: String) -> String {
        "\(Value.quoted(text)) is not a replacement: a backslash must be followed by a backslash or a group number"
    }

    static let timeHelp = "such as \"2026-01-05T09:00:00Z\""
    static let durationHelp = "such as \"90s\", \"15m\" or \"1h30m\""
    static func unreadable(_ text: String) -> String { "\(Value.quoted(text)) is not in a valid format" }

    static func emptyList(_ name: String) -> String { "\(name)() of an empty list" }
    static func numbersOnly(_ name: String) -> String { "\(name)() compares numbers" }
    static func negativeShift(_ name: String) -> String { "\(name)(): negative offset" }
    static let negativeDepth = "flatten(): the depth is negative"
    static let notBase64 = "the text is not base 64"

    static let unfinishedClause = "could not parse formatting clause: the text ends after `%`"
    static let badPrecision =
        "could not parse formatting clause: a precision is a number from 0 to 1000 and a letter, as in `%.2f`"
    static func missingArgument(_ index: Int) -> String { "format(): there is no argument for place \(index)" }
    static func unknownClause(_ clause: UnicodeScalar) -> String {
        "could not parse formatting clause: unrecognized formatting clause \"\(clause)\""
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
    static let tooNested = "error during formatting: the value is nested too deep"

    static let timePatternHelp = "such as \"yyyy-MM-dd HH:mm\"; text between single quotes is literal"
    static let openQuote = "the pattern has a quote that is not closed"
    static func unknownTimeField(_ letter: UnicodeScalar, _ count: Int) -> String {
        "`\(String(repeating: String(letter), count: count))` is not part of a time pattern"
    }

    static func patternTooLong(limit: Int) -> String { "it is longer than \(limit) bytes" }
    static let outOfMemory = "out of memory"

    static func zoneNotAllowed(_ what: String) -> String { "\(what) with zone value is not allowed" }
    static let mappedNotAllowed = "IPv4-mapped IPv6 address is not allowed"
    static func notAnAddress(_ text: String) -> String { "IP Address '\(text)' parse error during conversion from string" }
    static func notABlock(_ text: String) -> String { "CIDR '\(text)' parse error during conversion from string" }
}

// MARK: Parts of sentences

/// The tokens that the parser expects at this place.
enum Expected {
    static let member = "the name of a field or a function"
    static let value = "a value"
    static let name = "a name"
    static func symbol(_ symbol: Token.Symbol) -> String { "`\(symbol.rawValue)`" }
}

/// The part of an expression whose type is wrong.
enum Part {
    static let whole = "the expression's type here"
    static let choice = "the condition before `?`"
    static let optionalElement = "the value after `?`"
    static func side(of symbol: String) -> String { "each side of `\(symbol)`" }
    static func condition(of macro: Node.Comprehension.Kind) -> String { "the condition of \(macro.rawValue)()" }
    static func product(of macro: Node.Comprehension.Kind) -> String { "the result of \(macro.rawValue)()" }
    static func operand(of macro: Node.Comprehension.Kind) -> String { "the target of \(macro.rawValue)()" }
    static func key(of macro: Node.Comprehension.Kind) -> String { "the key of \(macro.rawValue)()" }
}

/// The operand that is null or of a wrong type at run time.
enum Operand {
    static let condition = "a condition"
    static let index = "an index"
    static let key = "a key"
    static let element = "an element"
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
    static func emptyExpression(at range: Range<Int>) -> Self { Self("empty-expression", "the expression is empty", at: range) }

    static func expressionTooLong(limit: Int, at range: Range<Int>) -> Self {
        Self("expression-too-long", "the expression is longer than \(limit) bytes", at: range)
    }

    static func expressionTooDeep(limit: Int, at range: Range<Int>) -> Self {
        Self("expression-too-deep", "the expression is nested more than \(limit) deep", at: range)
    }

    static func typeTooDeep(at range: Range<Int>) -> Self {
        Self("expression-too-deep", "the value here is nested more than 100 deep", at: range)
    }

    static func unexpected(_ token: Token, expected: String?) -> Self {
        let message = token.kind == .end ? "the expression ends too early" : "\(token.text) does not belong here"
        return Self("syntax", message, at: token.range, help: expected.map { "expected \($0)" })
    }

    static func reservedName(_ name: String, at range: Range<Int>) -> Self {
        Self("reserved-name", "`\(name)` is a reserved word of the language", at: range)
    }

    static func mixedSigns(at range: Range<Int>) -> Self {
        Self("syntax", "`!` and `-` cannot follow each other", at: range, help: "put the inner part in parentheses")
    }

    static func strangeCharacter(_ text: String, at range: Range<Int>) -> Self {
        let corrections = [
            "=": "compare with `==`", "&": "write `&&`", "|": "write `||`", ";": "an expression has no `;`",
            "$": "inside an expression, write names without `${{`", "“": "use straight quotes", "”": "use straight quotes",
            "‘": "use straight quotes", "’": "use straight quotes",
        ]
        return Self("strange-character", "`\(text)` is not allowed here", at: range, help: corrections[text])
    }

    static func unterminatedText(isTriple: Bool, at range: Range<Int>) -> Self {
        let help = isTriple ? nil : "close the quote, or use three quotes for a text of several lines"
        return Self("unterminated-string", "the string is not closed", at: range, help: help)
    }

    static func badEscape(at range: Range<Int>) -> Self {
        let help = "write `\\\\` for a backslash, or r\"…\" for a text without escapes"
        return Self("bad-escape", "unknown escape in a string", at: range, help: help)
    }

    static func badNumber(_ text: String, at range: Range<Int>) -> Self {
        Self("bad-number", "`\(text)` is not a number", at: range)
    }

    static func numberTooLarge(at range: Range<Int>) -> Self {
        Self("number-too-large", "the number does not fit 64 bits", at: range)
    }

    static func badFieldName(at range: Range<Int>) -> Self {
        let message = "a name in backticks may contain letters, digits, `_`, `.`, `-`, `/` and blanks"
        return Self("bad-field-name", message, at: range, help: "use [\"…\"] for other names")
    }

    static func hasNeedsField(at range: Range<Int>) -> Self {
        Self("has-needs-field", "has() needs a field", at: range, help: "write it as has(task.title)")
    }

    static func notAVariable(macro: String, at range: Range<Int>) -> Self {
        Self("not-a-variable", "\(macro)() needs the name of a variable here", at: range, help: "such as \(macro)(t, …)")
    }

    static func sameVariableTwice(_ name: String, at range: Range<Int>) -> Self {
        Self("same-variable-twice", "`\(name)` is the name of both variables", at: range)
    }

    static func optionalSyntax(at range: Range<Int>) -> Self {
        Self("optional-syntax", "optional values are not enabled here", at: range)
    }

    static func blockNeedsList(at range: Range<Int>) -> Self {
        Self("block-needs-list", "cel.block() needs a list of values as its first argument", at: range)
    }

    static func blockNeedsNumber(at range: Range<Int>) -> Self {
        Self("block-needs-number", "a number such as 0 belongs here", at: range)
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
