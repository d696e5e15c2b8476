extension PosixZone {
    /// Parses a POSIX `TZ` string with the hours of RFC 8536 §3.3.1 (up to 167, also negative); nil if invalid.
    ///
    /// Daylight saving time requires its rule, which is optional in POSIX.
    init?(_ text: some StringProtocol) {
        var reader = Reader(bytes: Array(text.utf8))
        guard let name = reader.name(), let west = reader.time(hours: 24) else { return nil }
        standard = LocalTimeType(offset: -west, abbreviation: name)
        if reader.isAtEnd { return }
        guard let name = reader.name() else { return nil }
        var offset = standard.offset + 3600
        if !reader.take(",") {
            guard let west = reader.time(hours: 24), reader.take(",") else { return nil }
            offset = -west
        }
        guard let start = reader.yearlyMoment(), reader.take(","), let end = reader.yearlyMoment(), reader.isAtEnd else {
            return nil
        }
        daylight = Daylight(type: LocalTimeType(offset: offset, abbreviation: name), start: start, end: end)
    }

    private struct Reader {
        let bytes: [UInt8]
        var index = 0

        var isAtEnd: Bool { index == bytes.count }

        mutating func take(_ scalar: Unicode.Scalar) -> Bool {
            guard index < bytes.count, UInt32(bytes[index]) == scalar.value else { return false }
            index += 1
            return true
        }

        /// Three letters or more, or anything between `<` and `>`.
        mutating func name() -> String? {
            let quoted = take("<")
            let start = index
            while index < bytes.count {
                let byte = bytes[index]
                let isOther = byte.isASCIIDigit || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
                guard byte.isASCIILetter || quoted && isOther else { break }
                index += 1
            }
            let name = String(decoding: bytes[start..<index], as: UTF8.self)
            guard name.count >= 3, !quoted || take(">") else { return nil }
            return name
        }

        mutating func number(upTo limit: Int) -> Int? {
            var value: Int?
            while index < bytes.count, bytes[index].isASCIIDigit {
                let next = (value ?? 0) * 10 + Int(bytes[index] - UInt8(ascii: "0"))
                guard next <= limit else { return nil }
                value = next
                index += 1
            }
            return value
        }

        /// `[+-]hh[:mm[:ss]]` in seconds.
        mutating func time(hours limit: Int) -> Int? {
            let negative = take("-")
            if !negative { _ = take("+") }
            guard let hours = number(upTo: limit) else { return nil }
            var seconds = hours * 3600
            if take(":") {
                guard let minutes = number(upTo: 59) else { return nil }
                seconds += minutes * 60
                if take(":") {
                    guard let rest = number(upTo: 59) else { return nil }
                    seconds += rest
                }
            }
            return negative ? -seconds : seconds
        }

        mutating func yearlyMoment() -> YearlyMoment? {
            let day: YearlyMoment.Day
            if take("J") {
                guard let number = number(upTo: 365), number > 0 else { return nil }
                day = .julian(number)
            } else if take("M") {
                guard let month = number(upTo: 12), month > 0, take("."), let week = number(upTo: 5), week > 0, take("."),
                    let weekday = number(upTo: 6)
                else { return nil }
                day = .weekday(month: month, week: week, weekday: weekday)
            } else {
                guard let number = number(upTo: 365) else { return nil }
                day = .zeroBased(number)
            }
            guard take("/") else { return YearlyMoment(day: day, seconds: 7200) }
            guard let seconds = time(hours: 167) else { return nil }
            return YearlyMoment(day: day, seconds: seconds)
        }
    }
}
