import BellhopCore

/// Converts values of a JSON answer to fields of a task.
enum ItemValue {
    /// The value as a field of this type; empty or unreadable values are null, except for texts.
    static func typed(_ value: JSON?, _ type: FieldType) -> JSON {
        switch (type, value) {
        case (_, nil), (_, .null?): type == .text ? "" : .null
        case (.text, let value): .string(text(value))
        case (.int, .int(let number)?): .int(number)
        case (.int, .double(let number)?): Int64(exactly: number).map { .int($0) } ?? .null
        case (.double, .int(let number)?): .double(Double(number))
        case (.double, .double(let number)?): .double(number)
        case (.bool, .bool(let flag)?): .bool(flag)
        case (.timestamp, let value?): time(value).map { .string($0.rfc3339) } ?? .null
        case (.int, let value?), (.double, let value?), (.bool, let value?): typed(text(value), type)
        }
    }

    /// A text as a field of this type; times are read by ``plainTime(_:)``.
    static func typed(_ text: String, _ type: FieldType) -> JSON {
        switch type {
        case .text: .string(text)
        case .int: Int64(ASCII.trimmed(text)).map { .int($0) } ?? .null
        case .double: Double(ASCII.trimmed(text)).flatMap { $0.isFinite ? .double($0) : nil } ?? .null
        case .bool: ["true", "1"].contains(text) ? .bool(true) : ["false", "0"].contains(text) ? .bool(false) : .null
        case .timestamp: plainTime(text).map { .string($0.rfc3339) } ?? .null
        }
    }

    /// Reads a time without a zone as UTC, and a date alone as its midnight.
    static func plainTime(_ text: String) -> Timestamp? { Timestamp(sql: text) ?? Timestamp(sql: text + " 00:00:00") }

    /// The value as text: numbers and booleans as written, null as empty, lists and objects as JSON.
    static func text(_ value: JSON?) -> String {
        switch value {
        case .string(let text)?: text
        case nil, .null?: ""
        case let value?: value.text(.sorted)  // sorted, because some servers change the order of members
        }
    }

    /// Reads RFC 3339, a date and time without a zone (taken as UTC), a date alone (its midnight), WCF's `/Date(…)/`, an HTTP
    /// date; or a number: seconds since 1970, or milliseconds from 100,000,000,000 on (in seconds that would be the year 5138).
    static func time(_ value: JSON) -> Timestamp? {
        switch value {
        case .int(let number): return time(since1970: number)
        case .double(let number):
            guard abs(number) < 1e15 else { return nil }
            return abs(number) >= 1e11
                ? Timestamp(microseconds: Int64(number * 1000)) : Timestamp(microseconds: Int64(number * 1_000_000))
        case .string(let words):
            let text = String(ASCII.trimmed(words))
            if let time = Timestamp(rfc3339: text) ?? plainTime(text) ?? Timestamp(wcf: text) ?? Timestamp(httpDate: text) {
                return time
            }
            // `+0100` without its colon.
            if let sign = text.lastIndex(where: { $0 == "+" || $0 == "-" }), text[sign...].utf8.count == 5 {
                let cut = text.index(text.endIndex, offsetBy: -2)
                return Timestamp(rfc3339: text[..<cut] + ":" + text[cut...])
            }
            // `2026-01-05T09:00:00` without a zone is UTC.
            if let time = Timestamp(rfc3339: text + "Z") { return time }
            return Int64(text).flatMap { time(since1970: $0) }
        case .null, .bool, .array, .object: return nil
        }
    }

    private static func time(since1970 number: Int64) -> Timestamp? {
        guard number.magnitude >= 100_000_000_000 else { return Timestamp(seconds: number) }
        let (product, overflow) = number.multipliedReportingOverflow(by: 1000)
        return overflow ? nil : Timestamp(microseconds: product)
    }
}

extension Timestamp {
    /// Reads `/Date(1475798400000-0400)/`, WCF's format: milliseconds since 1970 in UTC; the suffix only names the writer's zone
    /// and is ignored.
    init?(wcf text: some StringProtocol) {
        guard text.hasPrefix("/Date("), text.hasSuffix(")/") else { return nil }
        let inner = text.dropFirst(6).dropLast(2)
        let sign = inner.first == "-" ? 1 : 0
        let digits = inner.dropFirst(sign).prefix(while: \.isASCIIDigit)
        let zone = inner.dropFirst(sign + digits.count)
        guard zone.isEmpty || zone.count == 5 && "+-".contains(zone.prefix(1)) && zone.dropFirst().allSatisfy(\.isASCIIDigit),
            let number = Int64(inner.prefix(sign + digits.count))
        else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: 1000)
        if overflow { return nil }
        self.init(microseconds: product)
    }

    /// `/Date(1475798400000)/`, truncated to milliseconds.
    var wcf: String { "/Date(\(microseconds / 1000 - (microseconds % 1000 < 0 ? 1 : 0)))/" }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { isASCII && isNumber }
}
