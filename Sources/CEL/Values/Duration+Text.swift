extension Duration {
    /// The span in nanoseconds, or nil if it does not fit 64 bits (292 years).
    var nanosecondsExactly: Int64? {
        let (seconds, attoseconds) = components
        let (scaled, tooLarge) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return tooLarge || overflow ? nil : sum
    }

    /// Seconds with as many digits as needed, such as `90.5s`.
    var celText: String {
        let (seconds, attoseconds) = components
        let sign = seconds < 0 || attoseconds < 0 ? "-" : ""
        return "\(sign)\(seconds.magnitude)\(fraction(Int32(abs(attoseconds / 1_000_000_000))))s"
    }

    /// Parses numbers with units, such as `1h30m`, `-1.5s`, `250ms`; nil for invalid or too large values.
    init?(cel text: String) {
        var bytes = Array(text.utf8)[...]
        let negative = bytes.first == UInt8(ascii: "-")
        if let sign = bytes.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { bytes.removeFirst() }
        if bytes.elementsEqual("0".utf8) {
            self = .zero
            return
        }
        guard !bytes.isEmpty else { return nil }
        var total: Int64 = 0
        while !bytes.isEmpty {
            guard let part = Duration.part(&bytes) else { return nil }
            let (sum, overflow) = total.addingReportingOverflow(negative ? -part : part)
            guard !overflow else { return nil }
            total = sum
        }
        self = .nanoseconds(total)
    }

    private static let units: [(String, Int64)] = [
        ("ns", 1), ("us", 1000), ("µs", 1000), ("μs", 1000), ("ms", 1_000_000), ("s", 1_000_000_000),
        ("m", 60_000_000_000), ("h", 3_600_000_000_000), ("d", 86_400_000_000_000),
    ]

    /// Consumes one number with its unit and returns its nanoseconds.
    private static func part(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
        func digit() -> Int64? {
            guard let byte = bytes.first, byte.isDigit else { return nil }
            bytes.removeFirst()
            return Int64(byte - 0x30)
        }
        var whole: Int64 = 0
        var digits = 0
        while let next = digit() {
            let (scaled, tooLarge) = whole.multipliedReportingOverflow(by: 10)
            let (sum, overflow) = scaled.addingReportingOverflow(next)
            guard !tooLarge, !overflow else { return nil }
            whole = sum
            digits += 1
        }
        var numerator: Int64 = 0
        var denominator: Int64 = 1
        if bytes.first == UInt8(ascii: ".") {
            bytes.removeFirst()
            while let next = digit() {
                digits += 1
                guard denominator < 1_000_000_000_000_000 else { continue }
                numerator = numerator * 10 + next
                denominator *= 10
            }
        }
        let name = bytes.prefix { !$0.isDigit && $0 != UInt8(ascii: ".") }
        guard digits > 0, let unit = units.first(where: { name.elementsEqual($0.0.utf8) })?.1 else { return nil }
        bytes.removeFirst(name.count)
        let (scaled, tooLarge) = whole.multipliedReportingOverflow(by: unit)
        let rest = Int64(Double(numerator) * (Double(unit) / Double(denominator)))
        let (sum, overflow) = scaled.addingReportingOverflow(rest)
        return tooLarge || overflow ? nil : sum
    }
}
