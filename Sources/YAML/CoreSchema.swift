/// The types of plain scalars (YAML 1.2.2, 10.3.2): unlike YAML 1.1, no `yes`, `on`, `0777`, `1:30` or dates.
enum CoreSchema {
    /// The value of a plain scalar without a tag.
    static func resolve(_ text: String) -> Value {
        guard let first = text.utf8.first else { return .null }
        switch first {
        case UInt8(ascii: "~"), UInt8(ascii: "n"), UInt8(ascii: "N"): return isNull(text) ? .null : .string(text)
        case UInt8(ascii: "t"), UInt8(ascii: "T"), UInt8(ascii: "f"), UInt8(ascii: "F"):
            return bool(text).map(Value.bool) ?? .string(text)
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            return number(text) ?? .string(text)
        default: return .string(text)
        }
    }

    static func isNull(_ text: String) -> Bool {
        switch text {
        case "", "~", "null", "Null", "NULL": true
        default: false
        }
    }

    static func bool(_ text: String) -> Bool? {
        switch text {
        case "true", "True", "TRUE": true
        case "false", "False", "FALSE": false
        default: nil
        }
    }

    /// `[-+]?[0-9]+`, `0o[0-7]+`, `0x[0-9a-fA-F]+`, if it fits 64 bits.
    static func int(_ text: String) -> Int64? {
        guard isInt(text) else { return nil }
        if text.hasPrefix("0o") { return Int64(text.dropFirst(2), radix: 8) }
        if text.hasPrefix("0x") { return Int64(text.dropFirst(2), radix: 16) }
        return Int64(text)
    }

    static func isInt(_ text: String) -> Bool {
        let bytes = text.utf8
        if text.hasPrefix("0o") { return bytes.count > 2 && bytes.dropFirst(2).allSatisfy { $0 >= 0x30 && $0 <= 0x37 } }
        if text.hasPrefix("0x") { return bytes.count > 2 && bytes.dropFirst(2).allSatisfy(isHexDigit) }
        let digits = hasSign(bytes) ? bytes.dropFirst() : bytes[...]
        return !digits.isEmpty && digits.allSatisfy(ASCII.isDigit)
    }

    /// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, `[-+]?\.(inf|Inf|INF)`, `\.(nan|NaN|NAN)`.
    static func float(_ text: String) -> Double? {
        switch text {
        case ".nan", ".NaN", ".NAN": return .nan
        case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF": return .infinity
        case "-.inf", "-.Inf", "-.INF": return -.infinity
        default: return isDecimal(text) ? Double(text) : nil
        }
    }

    private static func number(_ text: String) -> Value? {
        if let whole = int(text) { return .int(whole) }
        if let fraction = float(text) { return .float(fraction) }
        // Octal and hexadecimal numbers beyond 64 bits.
        guard isInt(text) else { return nil }
        let radix = text.hasPrefix("0o") ? 8.0 : 16.0
        return .float(text.dropFirst(2).reduce(0.0) { $0 * radix + Double($1.hexDigitValue ?? 0) })
    }

    private static func isDecimal(_ text: String) -> Bool {
        var rest = text.utf8[...]
        if hasSign(rest) { rest.removeFirst() }
        let whole = rest.prefix(while: ASCII.isDigit).count
        rest = rest.dropFirst(whole)
        var fraction = 0
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            fraction = rest.prefix(while: ASCII.isDigit).count
            rest = rest.dropFirst(fraction)
        }
        guard whole + fraction > 0 else { return false }
        guard let exponent = rest.first else { return true }
        guard exponent == UInt8(ascii: "e") || exponent == UInt8(ascii: "E") else { return false }
        rest.removeFirst()
        if hasSign(rest) { rest.removeFirst() }
        return !rest.isEmpty && rest.allSatisfy(ASCII.isDigit)
    }

    private static func hasSign(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.first == UInt8(ascii: "+") || bytes.first == UInt8(ascii: "-")
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        ASCII.isDigit(byte) || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "f"))
    }
}

/// The tags of the core schema, and how each interprets a scalar.
enum Tag: String {
    case string = "tag:yaml.org,2002:str"
    case int = "tag:yaml.org,2002:int"
    case float = "tag:yaml.org,2002:float"
    case bool = "tag:yaml.org,2002:bool"
    case null = "tag:yaml.org,2002:null"
    case mapping = "tag:yaml.org,2002:map"
    case sequence = "tag:yaml.org,2002:seq"

    static let names = "`!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!map`, `!!seq`"

    /// The tag as written in a text.
    var written: String { "!!" + rawValue.dropFirst("tag:yaml.org,2002:".count) }

    /// The value that the tag requires, in words.
    var wanted: String {
        switch self {
        case .string: Node.Kind.string.description
        case .int: "a whole number of at most 64 bits"
        case .float: Node.Kind.float.description
        case .bool: "`true` or `false`"
        case .null: "`null` or nothing"
        case .mapping: Node.Kind.mapping.description
        case .sequence: Node.Kind.sequence.description
        }
    }

    /// The value of a scalar with this tag, or nil if its text does not fit.
    func value(of text: String) -> Value? {
        switch self {
        case .string: .string(text)
        case .int: CoreSchema.int(text).map(Value.int)
        case .float: (CoreSchema.float(text) ?? CoreSchema.int(text).map(Double.init)).map(Value.float)
        case .bool: CoreSchema.bool(text).map(Value.bool)
        case .null: CoreSchema.isNull(text) ? .null : nil
        case .mapping, .sequence: nil
        }
    }
}
