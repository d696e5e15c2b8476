/// The offsets of one time zone over time: the moments of change, and the rule for the years after the last of them.
struct ZoneTable: Sendable {
    struct Period: Sendable, Equatable {
        let offset: Int64
        let name: String
    }

    private var changes: [(at: Int64, period: Period)] = []
    private var first: Period
    private var rule: ZoneRule?

    init(fixed offset: Int64, _ name: String) { first = Period(offset: offset, name: name) }

    /// Reads a TZif file (RFC 9636), of version 2 or later for moments beyond 32 bits.
    init?(_ bytes: [UInt8]) {
        guard let header = Header(bytes, at: 0) else { return nil }
        if header.version >= UInt8(ascii: "2"), let second = Header(bytes, at: header.end(timeWidth: 4)) {
            guard let read = Self.read(bytes, second, timeWidth: 8) else { return nil }
            self = read
            let footer = bytes[min(second.end(timeWidth: 8), bytes.count)...].drop { $0 == 0x0A }.prefix { $0 != 0x0A }
            rule = ZoneRule(String(decoding: footer, as: UTF8.self))
        } else {
            guard let read = Self.read(bytes, header, timeWidth: 4) else { return nil }
            self = read
        }
    }

    func offset(at seconds: Int64) -> Period {
        if let last = changes.last, seconds >= last.at, let rule { return rule.period(at: seconds) }
        if changes.isEmpty, let rule { return rule.period(at: seconds) }
        var low = 0
        var high = changes.count
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].at <= seconds { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? first : changes[low - 1].period
    }

    private struct Header {
        let start: Int
        let version: UInt8
        /// isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt
        let counts: [Int]

        init?(_ bytes: [UInt8], at start: Int) {
            guard start >= 0, bytes.count >= start + 44, bytes[start..<start + 4].elementsEqual("TZif".utf8) else { return nil }
            self.start = start
            version = bytes[start + 4]
            counts = (0..<6).map { Int(ZoneTable.number(bytes, start + 20 + 4 * $0, 4)) }
            guard counts.allSatisfy({ (0...100_000).contains($0) }), counts[4] > 0 else { return nil }
        }

        func end(timeWidth: Int) -> Int {
            start + 44 + counts[3] * (timeWidth + 1) + counts[4] * 6 + counts[5] + counts[2] * (timeWidth + 4) + counts[1]
                + counts[0]
        }
    }

    private static func read(_ bytes: [UInt8], _ header: Header, timeWidth: Int) -> ZoneTable? {
        guard bytes.count >= header.end(timeWidth: timeWidth) else { return nil }
        let (times, types) = (header.counts[3], header.counts[4])
        let timesAt = header.start + 44
        let indexesAt = timesAt + times * timeWidth
        let typesAt = indexesAt + times
        let namesAt = typesAt + types * 6
        let periods = (0..<types).map { index in
            let at = typesAt + index * 6
            let name = bytes[min(namesAt + Int(bytes[at + 5]), namesAt + header.counts[5])..<(namesAt + header.counts[5])].prefix
            { $0 != 0 }
            return Period(offset: number(bytes, at, 4), name: String(decoding: name, as: UTF8.self))
        }
        var table = ZoneTable(fixed: 0, "UTC")
        table.first = periods[0]
        for index in 0..<times {
            let type = Int(bytes[indexesAt + index])
            guard type < types else { return nil }
            table.changes.append((number(bytes, timesAt + index * timeWidth, timeWidth), periods[type]))
        }
        return table
    }

    /// A big-endian signed number.
    private static func number(_ bytes: [UInt8], _ at: Int, _ width: Int) -> Int64 {
        var bits: UInt64 = 0
        for byte in bytes[at..<at + width] { bits = bits << 8 | UInt64(byte) }
        return width == 4 ? Int64(Int32(truncatingIfNeeded: bits)) : Int64(bitPattern: bits)
    }
}

/// The rule for future years, in the form of POSIX's TZ variable, such as `CET-1CEST,M3.5.0,M10.5.0/3`.
struct ZoneRule: Sendable {
    private let standard: ZoneTable.Period
    private var summer: (period: ZoneTable.Period, start: Day, end: Day)?

    init?(_ text: String) {
        var rest = Array(text.utf8)[...]
        guard let name = Self.name(&rest), let west = Self.time(&rest) else { return nil }
        standard = ZoneTable.Period(offset: -west, name: name)
        guard !rest.isEmpty else { return }
        guard let summerName = Self.name(&rest) else { return nil }
        var offset = -west + 3600
        if let next = rest.first, next != UInt8(ascii: ",") {
            guard let own = Self.time(&rest) else { return nil }
            offset = -own
        }
        guard let start = Day(&rest), let end = Day(&rest), rest.isEmpty else { return nil }
        summer = (ZoneTable.Period(offset: offset, name: summerName), start, end)
    }

    func period(at seconds: Int64) -> ZoneTable.Period {
        guard let summer else { return standard }
        let year = CivilTime(seconds: seconds, offset: standard.offset).year
        let start = summer.start.seconds(in: year) - standard.offset
        let end = summer.end.seconds(in: year) - summer.period.offset
        let isSummer = start < end ? (start..<end).contains(seconds) : !(end..<start).contains(seconds)
        return isSummer ? summer.period : standard
    }

    /// A day of each year, and the time of that day at which the clocks change.
    private struct Day: Sendable {
        enum Form: Sendable {
            case weekday(month: Int64, week: Int64, day: Int64)
            case julian(Int64)
            case counted(Int64)
        }

        let form: Form
        var time: Int64 = 7200

        init?(_ rest: inout ArraySlice<UInt8>) {
            guard rest.popFirst() == UInt8(ascii: ",") else { return nil }
            switch rest.first {
            case UInt8(ascii: "M"):
                rest.removeFirst()
                guard let month = number(&rest), rest.popFirst() == UInt8(ascii: "."), let week = number(&rest),
                    rest.popFirst() == UInt8(ascii: "."), let day = number(&rest), (1...12).contains(month),
                    (1...5).contains(week), day < 7
                else { return nil }
                form = .weekday(month: month, week: week, day: day)
            case UInt8(ascii: "J"):
                rest.removeFirst()
                guard let day = number(&rest), (1...365).contains(day) else { return nil }
                form = .julian(day)
            default:
                guard let day = number(&rest), day < 366 else { return nil }
                form = .counted(day)
            }
            if rest.first == UInt8(ascii: "/") {
                rest.removeFirst()
                guard let own = ZoneRule.time(&rest) else { return nil }
                time = own
            }
        }

        /// The moment of the change by the clock before it, in seconds since 1970.
        func seconds(in year: Int64) -> Int64 {
            let newYear = CivilTime(year: year, month: 1, day: 1).days
            let days: Int64
            switch form {
            case .weekday(let month, let week, let day):
                let first = CivilTime(year: year, month: month, day: 1)
                var date = 1 + (day - first.weekday + 7) % 7 + (week - 1) * 7
                if date > CivilTime.daysInMonth(month, of: year) { date -= 7 }
                days = first.days + date - 1
            case .julian(let day):
                // 29 February is never counted.
                days = newYear + day - 1 + (CivilTime.daysInMonth(2, of: year) == 29 && day >= 60 ? 1 : 0)
            case .counted(let day): days = newYear + day
            }
            return days * 86_400 + time
        }
    }

    private static func number(_ rest: inout ArraySlice<UInt8>) -> Int64? {
        let digits = rest.prefix { $0.isDigit }
        guard (1...4).contains(digits.count) else { return nil }
        rest.removeFirst(digits.count)
        return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// `[+-]hh[:mm[:ss]]` in seconds.
    private static func time(_ rest: inout ArraySlice<UInt8>) -> Int64? {
        let sign: Int64 = rest.first == UInt8(ascii: "-") ? -1 : 1
        if rest.first == UInt8(ascii: "-") || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        guard var total = number(&rest).map({ $0 * 3600 }) else { return nil }
        for unit: Int64 in [60, 1] {
            guard rest.first == UInt8(ascii: ":") else { break }
            rest.removeFirst()
            guard let part = number(&rest) else { return nil }
            total += part * unit
        }
        return sign * total
    }

    private static func name(_ rest: inout ArraySlice<UInt8>) -> String? {
        let name: ArraySlice<UInt8>
        if rest.first == UInt8(ascii: "<") {
            name = rest.dropFirst().prefix { $0 != UInt8(ascii: ">") }
            guard rest.count >= name.count + 2 else { return nil }
            rest.removeFirst(name.count + 2)
        } else {
            name = rest.prefix { $0.isLetter }
            rest.removeFirst(name.count)
        }
        return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
    }
}
