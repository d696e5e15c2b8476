/// Durations as written in files and on the command line: `90s`, `15m`, `1h30m`, `2d`, `500ms`.
///
/// Whole numbers, each with a unit, the largest unit first, no unit twice. Units are `d`, `h`, `m`, `s`, `ms` and `us`; a day is
/// always 24 hours.
public enum DurationText {
    /// The longest duration: 1,000 years. RFC 3339, whose years have four digits, can write times that lie so far ahead.
    private static let longest: Int64 = 365_250 * Unit.day.rawValue

    /// Parses a duration; an error includes the corrected form if it can be guessed.
    public static func parse(_ text: some StringProtocol) throws(TimeTextError) -> Duration {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty else {
            throw TimeTextError("a duration is missing", offset: 0, length: 0, help: "for example 1h30m")
        }
        var mistakes = Mistakes()
        var parts: [Part] = []
        var index = 0
        while true {
            mistakes.skipSpaces(bytes, &index)
            guard index < bytes.count else { break }
            parts.append(try part(bytes, &index, &mistakes))
        }
        guard let last = parts.last else {
            throw TimeTextError("a duration is missing", offset: 0, length: bytes.count, help: "for example 1h30m")
        }
        var total: Int64 = 0
        for part in parts {
            let (product, overflow) = part.value.multipliedReportingOverflow(by: part.unit.rawValue)
            let (sum, carried) = total.addingReportingOverflow(overflow ? 0 : product)
            if overflow || carried || sum > longest {
                throw TimeTextError("a duration of more than 1,000 years", offset: part.offset, length: last.end - part.offset)
            }
            total = sum
        }
        for (first, second) in zip(parts, parts.dropFirst()) where first.unit <= second.unit {
            mistakes.note(
                "the units of a duration go from large to small, each once", offset: second.offset,
                length: second.end - second.offset)
        }
        if var mistake = mistakes.first {
            let corrected = format(.microseconds(total))
            mistake.help = mistakes.isQuestion ? "did you mean \(corrected)?" : "write \(corrected)"
            throw mistake
        }
        return .microseconds(total)
    }

    /// Formats a duration in its shortest form, largest unit first: `1h30m`; `0s` for zero, `-` before a negative one.
    ///
    /// Truncates to microseconds.
    public static func format(_ duration: Duration) -> String {
        let micros = duration.wholeMicroseconds
        if micros == 0 { return "0s" }
        var rest = micros.magnitude
        var text = micros < 0 ? "-" : ""
        for unit in Unit.allCases.reversed() {
            let (count, remainder) = rest.quotientAndRemainder(dividingBy: unit.rawValue.magnitude)
            if count > 0 { text += "\(count)\(unit.symbol)" }
            rest = remainder
        }
        return text
    }

    private struct Part {
        var value: Int64
        var unit: Unit
        var offset: Int
        var end: Int
    }

    /// Parses one number and its unit.
    private static func part(_ bytes: [UInt8], _ index: inout Int, _ mistakes: inout Mistakes) throws(TimeTextError) -> Part {
        let start = index
        let digits = bytes[start...].prefix(while: \.isASCIIDigit)
        index = digits.endIndex
        guard !digits.isEmpty else {
            let sign = bytes[start] == UInt8(ascii: "-") || bytes[start] == UInt8(ascii: "+")
            throw TimeTextError(
                sign ? "a duration has no sign" : "a duration begins with a number", offset: start,
                length: sign ? 1 : bytes.count - start, help: "for example 1h30m")
        }
        guard let value = Int64(String(decoding: digits, as: UTF8.self)) else {
            throw TimeTextError("a number too large for a duration", offset: start, length: digits.count)
        }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") || bytes[index] == UInt8(ascii: ",") {
            throw fraction(bytes, start: start, whole: value)
        }
        let afterNumber = index
        mistakes.skipSpaces(bytes, &index)
        let word = bytes[index...].prefix { $0.isASCIILetter || $0 > 0x7f }
        index = word.endIndex
        if word.isEmpty {
            index = afterNumber
            guard index == bytes.count || bytes[index] == UInt8(ascii: " ") else {
                throw TimeTextError(
                    "this is not part of a duration", offset: index, length: bytes.count - index, help: "for example 1h30m")
            }
            mistakes.note("a duration needs a unit", offset: start, length: digits.count, isQuestion: true)
            return Part(value: value, unit: .second, offset: start, end: index)
        }
        let name = String(decoding: word, as: UTF8.self)
        if let unit = Unit.allCases.first(where: { $0.symbol == name }) {
            return Part(value: value, unit: unit, offset: start, end: index)
        }
        guard let (unit, times) = Unit.guess(name), case let (scaled, overflow) = value.multipliedReportingOverflow(by: times),
            !overflow
        else {
            throw TimeTextError(
                "'\(name)' is not a unit", offset: word.startIndex, length: word.count, help: "use ms, s, m, h or d")
        }
        mistakes.note("'\(name)' is not a unit", offset: word.startIndex, length: word.count)
        return Part(value: scaled, unit: unit, offset: start, end: index)
    }

    /// The error for `1.5h`, with the equivalent whole numbers if they exist.
    private static func fraction(_ bytes: [UInt8], start: Int, whole: Int64) -> TimeTextError {
        let number = bytes[start...].prefix { $0.isASCIIDigit || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ",") }
        let decimals = number.drop(while: \.isASCIIDigit).dropFirst()
        var error = TimeTextError("a duration has whole numbers only", offset: start, length: number.count)
        let name = String(decoding: bytes[number.endIndex...], as: UTF8.self)
        guard let unit = Unit.allCases.first(where: { $0.symbol == name }), decimals.count <= 6,
            let digits = Int64(String(decoding: decimals, as: UTF8.self)), whole < 1_000_000
        else { return error }
        var scale: Int64 = 1
        for _ in decimals { scale *= 10 }
        error.help = "write \(format(.microseconds(whole * unit.rawValue + digits * unit.rawValue / scale)))"
        return error
    }
}

extension DurationText {
    /// The units in microseconds, smallest first.
    private enum Unit: Int64, CaseIterable, Comparable {
        case microsecond = 1
        case millisecond = 1000
        case second = 1_000_000
        case minute = 60_000_000
        case hour = 3_600_000_000
        case day = 86_400_000_000

        var symbol: String {
            switch self {
            case .microsecond: "us"
            case .millisecond: "ms"
            case .second: "s"
            case .minute: "m"
            case .hour: "h"
            case .day: "d"
            }
        }

        /// The likely meaning of an unknown unit, and how many of that unit it is.
        static func guess(_ word: String) -> (unit: Unit, times: Int64)? {
            switch word.lowercased() {
            case "µs", "μs", "usec", "micros", "microsecond", "microseconds": (.microsecond, 1)
            case "ms", "msec", "millis", "millisecond", "milliseconds": (.millisecond, 1)
            case "s", "sec", "secs", "second", "seconds": (.second, 1)
            case "m", "min", "mins", "minute", "minutes": (.minute, 1)
            case "h", "hr", "hrs", "hour", "hours": (.hour, 1)
            case "d", "day", "days": (.day, 1)
            case "w", "wk", "week", "weeks": (.day, 7)
            default: nil
            }
        }

        static func < (left: Unit, right: Unit) -> Bool { left.rawValue < right.rawValue }
    }

    /// The errors in a text whose meaning is clear; the first is reported, with the whole text corrected.
    private struct Mistakes {
        private(set) var first: TimeTextError?
        private(set) var isQuestion = false
        mutating func note(_ message: String, offset: Int, length: Int, isQuestion: Bool = false) {
            if isQuestion { self.isQuestion = true }
            if first == nil { first = TimeTextError(message, offset: offset, length: length) }
        }

        mutating func skipSpaces(_ bytes: [UInt8], _ index: inout Int) {
            let start = index
            while index < bytes.count, bytes[index] == UInt8(ascii: " ") { index += 1 }
            if index > start { note("a duration has no spaces", offset: start, length: index - start) }
        }
    }
}
