extension Timestamp: CustomStringConvertible {
    /// Parses an RFC 3339 time such as `2026-01-05T09:00:00Z` or `2026-01-05t10:00:00.25+01:00`; nil if invalid.
    ///
    /// Digits beyond microseconds are dropped. A leap second, only valid as 23:59:60 UTC, becomes the moment after it.
    public init?(rfc3339 text: some StringProtocol) {
        let text = String(text)
        self.init(rfc3339: text.utf8Span.span)
    }

    /// Parses an RFC 3339 time from the bytes of its text; nil if invalid.
    public init?(rfc3339 bytes: Span<UInt8>) {
        guard bytes.count >= 20, let date = TimeReader.date(bytes, at: 0), bytes[10] | 0x20 == UInt8(ascii: "t"),
            let (hour, minute, second) = TimeReader.time(bytes, at: 11)
        else { return nil }
        var index = 19
        var micros = 0
        if TimeReader.has(".", in: bytes, at: index) {
            let digits = TimeReader.digits(bytes, from: index + 1)
            guard digits > 0, let fraction = TimeReader.number(bytes, at: index + 1, digits: min(digits, 6)) else { return nil }
            micros = fraction
            for _ in min(digits, 6)..<6 { micros *= 10 }
            index += 1 + digits
        }
        guard index < bytes.count else { return nil }
        var offset = 0
        switch bytes[index] {
        case UInt8(ascii: "Z"), UInt8(ascii: "z"): index += 1
        case UInt8(ascii: "+"), UInt8(ascii: "-"):
            guard let hours = TimeReader.number(bytes, at: index + 1, digits: 2), hours < 24,
                TimeReader.has(":", in: bytes, at: index + 3),
                let minutes = TimeReader.number(bytes, at: index + 4, digits: 2), minutes < 60
            else { return nil }
            offset = (hours * 60 + minutes) * (bytes[index] == UInt8(ascii: "-") ? -60 : 60)
            index += 6
        default: return nil
        }
        guard index == bytes.count else { return nil }
        let seconds = date.daysSinceEpoch * 86_400 + hour * 3600 + minute * 60 + second - offset
        if second == 60 {
            guard seconds.flooredDivision(by: 86_400).remainder == 0 else { return nil }
            micros = 0
        }
        self.init(microseconds: Int64(seconds) * 1_000_000 + Int64(micros))
    }

    /// The moment in UTC with microseconds, always of the same length: `2026-01-05T09:00:00.000000Z`.
    ///
    /// A year beyond four digits has a sign, which is not valid in RFC 3339.
    public var rfc3339: String {
        var text = TimeWriter()
        text.dateTime(utc)
        text.byte(".")
        text.number(subsecondMicroseconds, digits: 6)
        text.byte("Z")
        return text.string
    }

    /// The moment in RFC 3339 at an offset from UTC in seconds, with a fraction only if there is one.
    ///
    /// The offset is written in whole minutes, `Z` if zero. An offset with seconds (as in local mean times) is rounded, and the
    /// local time is shifted with it, so that the text means the same moment.
    func rfc3339(offset: Int) -> String {
        let minutes = (offset + (offset < 0 ? -30 : 30)) / 60
        var text = TimeWriter()
        text.dateTime(CivilDateTime(secondsSinceEpoch: seconds + Int64(minutes) * 60))
        var fraction = subsecondMicroseconds
        if fraction > 0 {
            var digits = 6
            while fraction % 10 == 0 {
                fraction /= 10
                digits -= 1
            }
            text.byte(".")
            text.number(fraction, digits: digits)
        }
        if minutes == 0 {
            text.byte("Z")
        } else {
            text.byte(minutes < 0 ? "-" : "+")
            text.number(abs(minutes) / 60, digits: 2)
            text.byte(":")
            text.number(abs(minutes) % 60, digits: 2)
        }
        return text.string
    }

    /// The moment as ``rfc3339`` writes it.
    public var description: String { rfc3339 }

    /// Parses SQL's form of a time, `2026-01-05 09:00:00`, as UTC; nil if invalid.
    public init?(sql text: some StringProtocol) {
        let text = String(text)
        let bytes = text.utf8Span.span
        guard bytes.count == 19, let date = TimeReader.date(bytes, at: 0), TimeReader.has(" ", in: bytes, at: 10),
            let (hour, minute, second) = TimeReader.time(bytes, at: 11), second < 60
        else { return nil }
        self.init(utc: CivilDateTime(date: date, secondOfDay: hour * 3600 + minute * 60 + second))
    }

    /// The moment in SQL's form: UTC, whole seconds (rounded down), `2026-01-05 09:00:00`.
    public var sql: String {
        var text = TimeWriter()
        text.dateTime(utc, separator: " ")
        return text.string
    }
}
