extension Value {
    /// The result of `string()`: the text itself, a number, a time in RFC 3339, a duration in seconds; nil if unsupported.
    public var text: String? {
        switch self {
        case .string(let value): value
        case .int(let value): String(value)
        case .uint(let value): String(value)
        case .double(let value): Numbers.text(value)
        case .bool(let value): value ? "true" : "false"
        case .bytes(let value): String(validating: value, as: UTF8.self)
        case .timestamp(let value): value.description
        case .duration(let value): value.celText
        case .object(let object): object.text
        case .type(let type): type.name
        case .null, .list, .map, .optional: nil
        }
    }
}

extension Value: CustomStringConvertible {
    /// The value as written in an expression.
    public var description: String {
        switch self {
        case .null: "null"
        case .bool, .int, .type: text ?? ""
        case .uint(let value): "\(value)u"
        case .double(let value):
            value == value.rounded() && value.magnitude < 1e21 ? "\(Numbers.text(value)).0" : Numbers.text(value)
        case .string(let value): Self.quoted(value)
        case .bytes(let value): Self.quoted(value)
        case .list(let list): "[\(list.elements.map(\.description).joined(separator: ", "))]"
        case .map(let map): "{\(map.entries.map { "\($0.description): \($1.description)" }.joined(separator: ", "))}"
        case .timestamp(let value): "timestamp(\"\(value)\")"
        case .duration(let value): "duration(\"\(value.celText)\")"
        case .optional(let value): value.map { "optional.of(\($0))" } ?? "optional.none()"
        case .object(let object): object.text.map { "\(object.celType.name)(\($0))" } ?? "\(object.celType.name){…}"
        }
    }

    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: result += "\\u" + hexadecimal(scalar.value, width: 4)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    private static func quoted(_ bytes: [UInt8]) -> String {
        var result = "b\""
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): result += "\\" + String(UnicodeScalar(byte))
            case 0x20..<0x7F: result += String(UnicodeScalar(byte))
            default: result += "\\x" + hexadecimal(UInt32(byte), width: 2)
            }
        }
        return result + "\""
    }

    static func hexadecimal(_ number: UInt32, width: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}

extension Numbers {
    /// The shortest text that reads back as the same double: plain digits between 1e-6 and 1e21, else with an exponent.
    /// - Parameter plain: never with an exponent.
    static func text(_ value: Double, plain: Bool = false) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
        if value == 0 { return value.sign == .minus ? "-0" : "0" }
        let shortest = "\(value.magnitude)"
        let parts = shortest.split(separator: "e")
        var digits = parts[0].filter { $0 != "." }
        var point = parts[0].firstIndex(of: ".").map { parts[0].distance(from: parts[0].startIndex, to: $0) } ?? parts[0].count
        if parts.count == 2 { point += Int(parts[1]) ?? 0 }
        let leading = digits.prefix { $0 == "0" }.count
        digits.removeFirst(leading)
        point -= leading
        while digits.last == "0" { digits.removeLast() }
        let sign = value < 0 ? "-" : ""
        if !plain, point > 21 || point < -5 {
            let exponent = point - 1
            let tail = digits.count > 1 ? "." + digits.dropFirst() : ""
            return "\(sign)\(digits.prefix(1))\(tail)e\(exponent < 0 ? "-" : "+")\(abs(exponent) < 10 ? "0" : "")\(abs(exponent))"
        }
        if point <= 0 { return sign + "0." + String(repeating: "0", count: -point) + digits }
        if digits.count <= point { return sign + digits + String(repeating: "0", count: point - digits.count) }
        return sign + digits.prefix(point) + "." + digits.dropFirst(point)
    }
}
