/// libyaml's messages in terms that authors understand. The keys are the texts in libyaml 0.2.5's scanner.c and parser.c.
struct Wording {
    let code: YAMLError.Code
    let message: String
    var help: String?

    /// Whether the error is at the start of libyaml's context, such as an opening quote, and not where libyaml noticed it.
    var isAtContext = false

    /// `next` is the character where libyaml noticed the error.
    init(problem: String, context: String, next: UInt8?) {
        let isAtEnd = next == nil
        switch problem {
        case "could not find expected ':'":
            code = .missingColon
            message = "this is neither a key with a colon nor part of the value above"
            help = "write `key: value`, or indent the line further than the key above if it continues the value"
            isAtContext = true
        case "mapping values are not allowed in this context":
            code = .strayColon
            message = "a colon followed by a space is not allowed here"
            help = "put the whole value in quotes if the colon belongs to it"
        case "mapping keys are not allowed in this context":
            code = .strayQuestionMark
            message = "a question mark followed by a space is not allowed here"
            help = "put the whole value in quotes if the question mark belongs to it"
        case "block sequence entries are not allowed in this context":
            code = .strayDash
            message = "a list's `- ` is not allowed here"
            help = "begin the list on the next line, or put the text in quotes"
        case "found unexpected end of stream" where context == "while scanning a quoted scalar",
            "found unexpected document indicator":
            code = .unclosedQuote
            message = "the quote that opens here is never closed"
            isAtContext = true
        case "found unknown escape character":
            code = .badEscape
            message = "this is not a YAML escape between double quotes"
            help = "write `\\\\` for a backslash, or use single quotes"
        case "did not find expected hexdecimal number", "found invalid Unicode character escape code":
            code = .badEscape
            message = "no character has this number"
            help = "write the character itself, or `\\U` with the eight hexadecimal digits of its number"
        case "found a tab character where an indentation space is expected", "found a tab character that violates indentation":
            code = .tabIndentation
            message = "tabs cannot be used for indentation"
            help = "indent with spaces"
        case "found an indentation indicator equal to 0",
            "did not find expected comment or line break" where context == "while scanning a block scalar":
            code = .blockHeader
            message = "after `|` or `>` the line may have only `+`, `-` and a digit from 1 to 9"
            help = "begin the text on the next line, or put it in quotes"
        case "did not find expected alphabetic or numeric character":
            code = .anchorName
            message =
                context.contains("alias")
                ? "`*` begins an alias, whose name has only letters, digits, `-` and `_`"
                : "`&` begins an anchor, whose name has only letters, digits, `-` and `_`"
            help = "put the whole value in quotes if it is a text"
            isAtContext = true
        case "found character that cannot start any token":
            code = .leadingCharacter
            message = "a value cannot begin with this character"
            help = "put the whole value in quotes"
        case "found undefined tag handle", "did not find expected '!'", "did not find the expected '>'",
            "did not find expected tag URI",
            "did not find URI escaped octet", "found an incorrect leading UTF-8 octet", "found an incorrect trailing UTF-8 octet",
            "did not find expected whitespace or line break":
            code = .unknownTag
            message = "`!` begins a tag, and this tag is unknown"
            help = "put the whole value in quotes if it is a text"
            isAtContext = true
        case "found incompatible YAML document", "found extremely long version number", "did not find expected version number",
            "did not find expected digit or '.' character":
            code = .version
            message = "this version of YAML is not supported"
            help = "delete the line, or write `%YAML 1.2`"
        case _
        where context.contains("directive") || problem.contains("directive") || problem == "did not find expected whitespace":
            code = .directive
            message = "a line that begins with `%` is a directive, and only `%YAML 1.2` is known"
            help = "delete the line, or indent it if it belongs to a text"
            isAtContext = true
        case "did not find expected <document start>":
            code = .strayText
            message = "only a new document can follow here"
            help = "write `---` on a line of its own before it, or indent it to where it belongs"
        case "did not find expected key" where next == ASCII.colon,
            "did not find expected node content" where next == ASCII.colon:
            code = .emptyKey
            message = "a key is missing"
            help = "write the key before the colon"
        case "did not find expected node content":
            code = .missingValue
            message = isAtEnd ? "a value is missing at the end of the text" : "a value is expected here"
        case "did not find expected ',' or ']'", "did not find expected ',' or '}'":
            code = .unclosedBracket
            let closing = problem.hasSuffix("']'") ? "]" : "}"
            message =
                isAtEnd
                ? "the `\(closing == "]" ? "[" : "{")` that opens here is never closed"
                : "a comma or `\(closing)` is expected here"
            isAtContext = isAtEnd
        case "found unexpected ':'":
            code = .strayColon
            message = "a colon is not allowed here"
            help = "put the value in quotes if the colon belongs to it"
        case "did not find expected '-' indicator":
            code = .indentation
            message = "a list entry is expected here, with its `-` exactly below the `-` above"
        case "did not find expected key" where next == ASCII.closeBrace || next == ASCII.closeBracket:
            code = .unclosedBracket
            message = "this closing bracket has no opening bracket"
            help = "delete it, or put the whole value in quotes"
        case "did not find expected key":
            code = .indentation
            message = "a key is expected here, exactly below the key above"
        default:
            code = .syntax
            message = problem.isEmpty ? "the text is not YAML" : "the text is not YAML: \(problem)"
        }
    }
}
