/// Converts numbers from their digits.
enum JSONNumber {
    /// The value of a number scanned by ``JSONLexer``. An integer beyond 64 bits becomes a double, a number beyond all doubles
    /// stays text; `-0` is the integer 0.
    static func value(_ bytes: Span<UInt8>, _ range: Range<Int>, isWhole: Bool) -> JSON {
        if isWhole, let value = integer(bytes, range) { return .int(value) }
        let value = double(bytes, range)
        return value.isFinite ? .double(value) : .string(text(bytes, range))
    }

    private static func integer(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int64? {
        let isNegative = bytes[range.lowerBound] == UInt8(ascii: "-")
        var value: Int64 = 0
        for place in (isNegative ? range.lowerBound + 1 : range.lowerBound)..<range.upperBound {
            let digit = Int64(bytes[place] - UInt8(ascii: "0"))
            let (tenfold, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isOver) = tenfold.addingReportingOverflow(isNegative ? -digit : digit)
            if isTooLarge || isOver { return nil }
            value = sum
        }
        return value
    }

    /// The nearest double; infinite if out of range.
    static func double(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Double {
        Double(text(bytes, range)) ?? .infinity
    }

    private static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String {
        var text = ""
        text.reserveCapacity(range.count)
        for place in range { text.unicodeScalars.append(Unicode.Scalar(bytes[place])) }
        return text
    }
}
