import Glibc

extension Strings {
    static let formatting: [Function] = [
        .pure("format", member: true, .string, .list(.dyn), .string) { activation, text, values throws(EvaluationError) in
            guard case .string(let text) = text, case .list(let values) = values else {
                throw .noOverload("format", [text, values])
            }
            return .string(try format(text, values, activation))
        }
    ]

    private static let maxDigits = 1000

    /// Replaces `%s`, `%d`, `%f`, `%.3f`, `%e`, `%b`, `%o`, `%x` and `%X` with values; `%%` is a percent sign.
    private static func format(_ text: String, _ values: Value.List, _ activation: Activation) throws(EvaluationError) -> String {
        var result = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        var used = 0
        try activation.spend(bytes: text.utf8.count + Int(values.shape.weight) << 4)
        while let next = rest.popFirst() {
            guard next == "%" else {
                result.append(next)
                continue
            }
            guard let first = rest.popFirst() else {
                throw .invalid("could not parse formatting clause: the text ends after `%`")
            }
            if first == "%" {
                result.append("%")
                continue
            }
            var clause = first
            var precision: Int?
            if first == "." {
                let digits = rest.prefix { ("0"..."9").contains($0) }
                rest = rest[digits.endIndex...]
                guard let number = Int(String(digits)), number <= maxDigits, let letter = rest.popFirst() else {
                    throw .invalid(
                        "could not parse formatting clause: a precision is a number from 0 to 1000 and a letter, as in `%.2f`")
                }
                precision = number
                clause = letter
            }
            guard used < values.count else { throw .invalid("format(): there is no argument for place \(used)") }
            let made = try format(values[used], clause, precision ?? 6)
            try activation.spend(bytes: made.utf8.count)
            result.append(contentsOf: made.unicodeScalars)
            used += 1
        }
        return String(result)
    }

    private static func format(_ value: Value, _ clause: UnicodeScalar, _ precision: Int) throws(EvaluationError) -> String {
        switch clause {
        case "s": return try string(value, depth: 0)
        case "d": return try decimal(value)
        case "f": return try printed(value, precision, "%.*f", clause)
        case "e": return try printed(value, precision, "%.*e", clause)
        case "b":
            if case .bool(let truth) = value { return truth ? "1" : "0" }
            return try digits(value, radix: 2, clause)
        case "o": return try digits(value, radix: 8, clause)
        case "x", "X":
            let text: String
            switch value {
            case .string(let string): text = string.utf8.map { Value.hexadecimal(UInt32($0), width: 2) }.joined()
            case .bytes(let bytes): text = bytes.map { Value.hexadecimal(UInt32($0), width: 2) }.joined()
            default: text = try digits(value, radix: 16, clause)
            }
            return clause == "X" ? text.uppercased() : text
        default: throw .invalid("could not parse formatting clause: unrecognized formatting clause \"\(clause)\"")
        }
    }

    private static func digits(_ value: Value, radix: Int, _ clause: UnicodeScalar) throws(EvaluationError) -> String {
        switch value {
        case .int(let number): return String(number, radix: radix)
        case .uint(let number): return String(number, radix: radix)
        default: throw .invalid(Messages.wrongClause(clause, value))
        }
    }

    private static func decimal(_ value: Value) throws(EvaluationError) -> String {
        switch value {
        case .int, .uint: return value.text ?? ""
        case .double(let number): return Numbers.text(number, plain: true)
        default: throw .invalid(Messages.wrongClause("d", value))
        }
    }

    /// A number with that many digits after the point, rounded from its exact value.
    private static func printed(_ value: Value, _ precision: Int, _ form: String, _ clause: UnicodeScalar) throws(EvaluationError)
        -> String
    {
        let number: Double
        switch value {
        case .int(let whole): number = Double(whole)
        case .uint(let whole): number = Double(whole)
        case .double(let double): number = double
        default: throw .invalid(Messages.wrongClause(clause, value))
        }
        guard number.isFinite else { return Numbers.text(number) }
        // The longest double has 309 digits before its point.
        var buffer = [CChar](repeating: 0, count: 320 + precision)
        let count = withVaList([Int32(precision), number]) { vsnprintf(&buffer, buffer.count, form, $0) }
        return String(decoding: buffer.prefix(max(0, Int(count))).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func string(_ value: Value, depth: Int) throws(EvaluationError) -> String {
        guard depth < 64 else { throw .invalid("error during formatting: the value is nested too deep") }
        switch value {
        case .null: return "null"
        case .double(let number): return Numbers.text(number, plain: true)
        case .bytes(let bytes): return String(decoding: bytes, as: UTF8.self)
        case .list(let list):
            var parts: [String] = []
            for index in 0..<list.count { parts.append(try string(list[index], depth: depth + 1)) }
            return "[\(parts.joined(separator: ", "))]"
        case .map(let map):
            var parts: [(key: String, text: String)] = []
            for (key, value) in map.entries {
                parts.append((try string(key, depth: depth + 1), try string(value, depth: depth + 1)))
            }
            parts.sort { $0.key.compareBytes(with: $1.key) < 0 }
            return "{\(parts.map { "\($0.key): \($0.text)" }.joined(separator: ", "))}"
        default:
            guard let text = value.text else { throw .invalid(Messages.wrongClause("s", value)) }
            return text
        }
    }
}
