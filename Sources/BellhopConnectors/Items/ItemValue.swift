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

    /// Reads RFC 3339 and the other forms of ISO 8601 that servers write (without a zone it is UTC), a date alone (its midnight),
    /// WCF's `/Date(…)/`, an HTTP date, a date without separators (`20260105`, `20260105T090000Z`, `20260105090000`); or a number, of
    /// seconds since 1970, or of a smaller unit if in seconds it would be a time after the year 5138.
    static func time(_ value: JSON) -> Timestamp? {
        switch value {
        case .int(let number): return basicTime(String(number)) ?? time(since1970: number)
        case .double(let number):
            guard abs(number) < 1e18 else { return nil }
            if abs(number) >= 1e14 { return time(since1970: Int64(number)) }
            return abs(number) >= 1e11
                ? Timestamp(microseconds: Int64(number * 1000)) : Timestamp(microseconds: Int64(number * 1_000_000))
        case .string(let words):
            let text = String(ASCII.trimmed(words))
            if let time = Timestamp(rfc3339: text) ?? plainTime(text) ?? Timestamp(wcf: text) ?? Timestamp(httpDate: text) {
                return time
            }
            return isoTime(text) ?? basicTime(text) ?? Int64(text).map { time(since1970: $0) }
        case .null, .bool, .array, .object: return nil
        }
    }

    /// Reads seconds, milliseconds, microseconds or nanoseconds.
    private static func time(since1970 number: Int64) -> Timestamp {
        switch number.magnitude {
        case ..<100_000_000_000: Timestamp(seconds: number)
        case ..<100_000_000_000_000: Timestamp(microseconds: number * 1000)
        case ..<100_000_000_000_000_000: Timestamp(microseconds: number)
        default: Timestamp(microseconds: number / 1000)
        }
    }

    /// Reads a date of the years 1900 to 2099 without separators, perhaps with a time. As seconds or milliseconds, these numbers would be
    /// times of 1970 or after 2570.
    private static func basicTime(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        let digits = bytes.prefix { $0.isASCIIDigit }.count
        guard digits == 8 || digits == 14, text.hasPrefix("19") || text.hasPrefix("20") else { return nil }
        func part(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        let day = "\(part(0..<4))-\(part(4..<6))-\(part(6..<8))"
        if bytes.count == 8 { return plainTime(day) }
        guard digits == 14 || "Tt".utf8.contains(bytes[8]) else { return nil }
        let clock = digits == 14 ? 8 : 9
        let end = bytes[clock...].firstIndex { !$0.isASCIIDigit } ?? bytes.endIndex
        guard end - clock == 4 || end - clock == 6 else { return nil }
        let time = stride(from: clock, to: end, by: 2).map { part($0..<$0 + 2) }.joined(separator: ":")
        return isoTime("\(day)T\(time)\(part(end..<bytes.endIndex))")
    }

    /// Reads a date and time with a blank instead of `T`, without seconds, with a comma before the fraction, or with a zone such as
    /// `+01`, `+0100`, `UTC` or none.
    private static func isoTime(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 16, "Tt ".utf8.contains(bytes[10]) else { return nil }
        let end = bytes[11...].firstIndex { !$0.isASCIIDigit && !":.,".utf8.contains($0) } ?? bytes.endIndex
        var clock = String(decoding: bytes[11..<end], as: UTF8.self).replacing(",", with: ".")
        if end == 16 { clock += ":00" }
        var zone = String(ASCII.trimmed(String(decoding: bytes[end...], as: UTF8.self))).filter { $0 != ":" }
        switch (zone.first, zone.utf8.count) {
        case ("+"?, 3), ("-"?, 3): zone += ":00"
        case ("+"?, 5), ("-"?, 5): zone = "\(zone.prefix(3)):\(zone.suffix(2))"
        default:
            guard ["", "Z", "z", "UTC", "GMT"].contains(zone) else { return nil }
            zone = "Z"
        }
        return Timestamp(rfc3339: "\(String(decoding: bytes[..<10], as: UTF8.self))T\(clock)\(zone)")
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
