/// One of cron's fields: its values, and its names in errors.
struct CronField: Sendable {
    let name: String
    let range: ClosedRange<Int>
    /// The names of the values from the lowest on; empty if there are none.
    let names: [String]
    /// The allowed values, for help.
    let allowed: String
    /// What may be counted in its month; nil for nothing.
    var counted: Counted?

    enum Counted {
        /// `L`
        case lastDay
        /// `FRI#2`, `FRIL`
        case weekdays
    }

    static let minute = CronField(name: "minute", range: 0...59, names: [], allowed: "0-59")
    static let hour = CronField(name: "hour", range: 0...23, names: [], allowed: "0-23")
    static let day = CronField(
        name: "day of the month", range: 1...31, names: [], allowed: "1-31, or L for the last", counted: .lastDay)
    static let month = CronField(
        name: "month", range: 1...12,
        names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"], allowed: "1-12 or JAN-DEC")
    static let weekday = CronField(
        name: "weekday", range: 0...7, names: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
        allowed: "0-7 or SUN-SAT (0 and 7 are Sunday)")
    /// A weekday, which may be counted in its month.
    static var weekdayInMonth: CronField {
        var field = weekday
        field.counted = .weekdays
        return field
    }

    /// The bit of the last day of a month.
    static let lastDay = 32

    /// The number of the last of a weekday in a month.
    static let lastNumber = 6

    /// The bit of the n-th of a weekday in a month, from 1 to 5, or of the last one.
    static func bit(of weekday: Int, number: Int) -> Int { 8 + weekday * lastNumber + number - 1 }

    /// Parses the field's text into bits.
    /// - Parameter offset: where the field begins in the whole text.
    func bits(_ text: Substring, at offset: Int) throws(TimeTextError) -> UInt64 {
        var bits: UInt64 = 0
        var start = offset
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            bits |= try itemBits(item, at: start)
            start += item.utf8.count + 1
        }
        // Sunday is both 0 and 7.
        return range.upperBound == 7 ? (bits & ~(1 << 7)) | (bits >> 7 & 1) : bits
    }

    /// Parses one entry of a list: a number, a range or a star, perhaps with a step.
    private func itemBits(_ text: Substring, at offset: Int) throws(TimeTextError) -> UInt64 {
        if let bit = try bitInMonth(text, at: offset) { return 1 << UInt64(bit) }
        let length = text.utf8.count
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let base = parts.first, !base.isEmpty else {
            throw TimeTextError("an empty entry in the field \(name)", offset: offset, length: length, help: allowed)
        }
        var (low, high) = (range.lowerBound, range.upperBound == 7 ? 6 : range.upperBound)
        var isRange = true
        if base != "*" {
            let ends = base.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
            low = try value(ends[0], at: offset)
            high = low
            isRange = ends.count == 2
            if isRange {
                high = try value(ends[1], at: offset + ends[0].utf8.count + 1)
                // As the end of a range, Sunday comes after Saturday.
                if range.upperBound == 7, high == 0, low > 0 { high = 7 }
                if range.upperBound == 7, low == 7, high < 7 { low = 0 }
            }
            guard low <= high else {
                throw TimeTextError(
                    "a range that runs backwards", offset: offset, length: base.utf8.count,
                    help: "\(ends[0])-\(last),\(first)-\(ends[1])")
            }
        }
        var step = 1
        if parts.count == 2 {
            let place = offset + base.utf8.count + 1
            guard let number = Self.number(parts[1]), number > 0 else {
                throw TimeTextError(
                    "a step is a number from 1 on", offset: place, length: parts[1].utf8.count, help: "for example */5")
            }
            guard isRange else {
                throw TimeTextError("a step needs a range", offset: offset, length: length, help: "\(base)-\(last)/\(number)")
            }
            guard number <= range.upperBound else {
                throw TimeTextError(
                    "a step longer than the field \(name)", offset: place, length: parts[1].utf8.count, help: allowed)
            }
            step = number
        }
        return stride(from: low, through: high, by: step).reduce(into: 0) { $0 |= 1 << UInt64($1) }
    }

    /// The bit of a day that is counted in its month: `L` is its last day, `FRI#2` its second Friday, `FRIL` its last Friday. Nil for
    /// any other entry.
    private func bitInMonth(_ text: Substring, at offset: Int) throws(TimeTextError) -> Int? {
        guard let counted else { return nil }
        if counted == .lastDay { return text.uppercased() == "L" ? Self.lastDay : nil }
        let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let day = parts.count == 2 ? parts[0] : text.uppercased().hasSuffix("L") ? text.dropLast() : ""
        guard !day.isEmpty else { return nil }
        let weekday = try value(day, at: offset) % 7
        guard parts.count == 2 else { return Self.bit(of: weekday, number: Self.lastNumber) }
        guard let number = Self.number(parts[1]), 1...5 ~= number else {
            throw TimeTextError(
                "a month has each weekday four or five times", offset: offset + day.utf8.count + 1, length: parts[1].utf8.count,
                help: "\(day)#1 to \(day)#5, or \(day)L for the last one")
        }
        return Self.bit(of: weekday, number: number)
    }

    /// Parses a number or a name.
    private func value(_ text: Substring, at offset: Int) throws(TimeTextError) -> Int {
        if let number = Self.number(text) {
            guard range.contains(number) else {
                throw TimeTextError("\(text) is not a valid \(name)", offset: offset, length: text.utf8.count, help: allowed)
            }
            return number
        }
        let upper = text.uppercased()
        if let place = names.firstIndex(of: upper) { return range.lowerBound + place }
        let length = text.utf8.count
        if text.isEmpty {
            throw TimeTextError("a range with an open end in the field \(name)", offset: offset, length: 0, help: allowed)
        }
        if text == "?" { throw TimeTextError("'?' is not supported", offset: offset, length: length, help: "*") }
        let guess = upper.count > 3 ? names.first { upper.hasPrefix($0) } : nil
        throw TimeTextError("'\(text)' is not a valid \(name)", offset: offset, length: length, help: guess ?? allowed)
    }

    private var first: String { names.first ?? String(range.lowerBound) }
    private var last: String { names.last ?? String(range.upperBound) }

    /// A number of one to three digits.
    private static func number(_ text: Substring) -> Int? {
        guard 1...3 ~= text.utf8.count, text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        return Int(text)
    }
}
