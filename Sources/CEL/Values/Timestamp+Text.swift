extension Value.Timestamp: CustomStringConvertible {
    /// Parses RFC 3339, such as `2026-01-05T09:00:00.25+01:00`; nil for invalid texts or years outside 1 to 9999.
    public init?(_ text: String) {
        guard let parsed = text.withBytes(RFC3339.parse) else { return nil }
        self.init(seconds: parsed.seconds, nanoseconds: parsed.nanoseconds)
    }

    /// RFC 3339 in UTC, with as many digits of a second as needed.
    public var description: String {
        let civil = CivilTime(seconds: seconds)
        let day = "\(padded(civil.year, 4))-\(padded(civil.month, 2))-\(padded(civil.day, 2))"
        return "\(day)T\(padded(civil.hour, 2)):\(padded(civil.minute, 2)):\(padded(civil.second, 2))\(fraction(nanoseconds))Z"
    }
}

/// A number padded with zeros to at least that many digits.
func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number.magnitude)
    return (number < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}

/// The fraction of a second with its point; empty for a whole second.
func fraction(_ nanoseconds: Int32) -> String {
    guard nanoseconds != 0 else { return "" }
    var digits = padded(Int64(nanoseconds), 9)
    while digits.utf8.last == UInt8(ascii: "0") { digits.removeLast() }
    return "." + digits
}

private enum RFC3339 {
    static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> (seconds: Int64, nanoseconds: Int64)? {
        guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] | 0x20 == UInt8(ascii: "t"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = number(bytes, 0, 4), let month = number(bytes, 5, 2), let day = number(bytes, 8, 2),
            let hour = number(bytes, 11, 2), let minute = number(bytes, 14, 2), let second = number(bytes, 17, 2),
            (1...12).contains(month), day >= 1, day <= CivilTime.daysInMonth(month, of: year), hour < 24, minute < 60, second < 60
        else { return nil }
        var at = 19
        var nanoseconds: Int64 = 0
        if bytes[at] == UInt8(ascii: ".") {
            at += 1
            let start = at
            while at < bytes.count, let digit = number(bytes, at, 1) {
                if at - start < 9 { nanoseconds = nanoseconds * 10 + digit }
                at += 1
            }
            guard at > start else { return nil }
            for _ in min(9, at - start)..<9 { nanoseconds *= 10 }
        }
        guard let offset = offset(bytes, at) else { return nil }
        let civil = CivilTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        return (civil.seconds - offset, nanoseconds)
    }

    private static func offset(_ bytes: UnsafeBufferPointer<UInt8>, _ at: Int) -> Int64? {
        guard at < bytes.count else { return nil }
        if bytes[at] | 0x20 == UInt8(ascii: "z") { return at + 1 == bytes.count ? 0 : nil }
        guard at + 6 == bytes.count, bytes[at + 3] == UInt8(ascii: ":"),
            let hours = number(bytes, at + 1, 2), let minutes = number(bytes, at + 4, 2), hours < 24, minutes < 60
        else { return nil }
        switch bytes[at] {
        case UInt8(ascii: "+"): return hours * 3600 + minutes * 60
        case UInt8(ascii: "-"): return -(hours * 3600 + minutes * 60)
        default: return nil
        }
    }

    private static func number(_ bytes: UnsafeBufferPointer<UInt8>, _ at: Int, _ width: Int) -> Int64? {
        var value: Int64 = 0
        for i in at..<at + width {
            guard bytes[i].isDigit else { return nil }
            value = value * 10 + Int64(bytes[i] - UInt8(ascii: "0"))
        }
        return value
    }
}
