/// Builds a date or time: at most 64 bytes of ASCII, stored inline, so that only the text itself is allocated.
struct TimeWriter {
    private var bytes: [64 of UInt8] = .init(repeating: 0)
    private var count = 0

    var string: String {
        bytes.span.extracting(first: count).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    mutating func byte(_ scalar: Unicode.Scalar) { append(UInt8(truncatingIfNeeded: scalar.value)) }

    mutating func text(_ text: String) { for byte in text.utf8 { append(byte) } }

    private mutating func append(_ byte: UInt8) {
        bytes[count] = byte
        count += 1
    }

    /// Writes a number that is not negative with at least this many digits.
    mutating func number(_ value: Int, digits: Int) {
        if digits == 2, value < 100 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / 10))
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10))
            return
        }
        var divisor = 1
        for _ in 1..<digits { divisor *= 10 }
        while value / divisor >= 10 { divisor *= 10 }
        var rest = value
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
            divisor /= 10
        }
    }

    /// `2026-01-05`. A year beyond four digits has a sign, as in ISO 8601's expanded form.
    mutating func date(_ date: CivilDate) {
        if date.year < 0 { byte("-") } else if date.year > 9999 { byte("+") }
        number(abs(date.year), digits: 4)
        byte("-")
        number(date.month, digits: 2)
        byte("-")
        number(date.day, digits: 2)
    }

    /// `2026-01-05T09:00:00`.
    mutating func dateTime(_ civil: CivilDateTime, separator: Unicode.Scalar = "T") {
        date(civil.date)
        byte(separator)
        time(secondOfDay: civil.secondOfDay)
    }

    /// `09:00:00`.
    mutating func time(secondOfDay: Int) {
        number(secondOfDay / 3600, digits: 2)
        byte(":")
        number(secondOfDay / 60 % 60, digits: 2)
        byte(":")
        number(secondOfDay % 60, digits: 2)
    }
}
