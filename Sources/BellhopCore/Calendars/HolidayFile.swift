/// Reads the holidays of an iCalendar file (RFC 5545): an entry of whole days is a holiday, an entry with times closes the calendar
/// for that time.
///
/// Entries that are cancelled or transparent (`TRANSP:TRANSPARENT`) are ignored. Repeated entries are followed until a given day.
public struct HolidayFile: Sendable {
    /// Why a file cannot be used, and on which line.
    public struct Malformed: Error, Sendable, Hashable {
        /// From 1.
        public var line: Int
        /// What is wrong, without a full stop.
        public var message: String
    }

    /// A name with parameters and a value.
    private struct Property {
        var line: Int
        var name: String
        var parameters: [String: String]
        var value: String

        func problem(_ message: String) -> Malformed { Malformed(line: line, message: message) }
    }

    private struct Entry {
        var line: Int
        var properties: [Property] = []

        func property(_ name: String) -> Property? { properties.first { $0.name == name } }
        func text(_ name: String) -> String? { property(name)?.value.uppercased() }
        func problem(_ message: String) -> Malformed { Malformed(line: line, message: message) }
    }

    private let zone: TimeZoneTable
    private let zones: @Sendable (String) -> TimeZoneTable?
    private let last: CivilDate

    /// - Parameters:
    ///   - zone: for times without a zone.
    ///   - zones: the zones that times may name.
    ///   - last: the day until which repeated entries are followed.
    public init(zone: TimeZoneTable, zones: @escaping @Sendable (String) -> TimeZoneTable?, until last: CivilDate) {
        (self.zone, self.zones, self.last) = (zone, zones, last)
    }

    /// The most holidays, which limits the memory that a file can use.
    private static let most = 100_000

    /// The most days that are examined for repeated entries, which limits the time that a file can take.
    private static let maxWork = 5_000_000

    public func holidays(_ bytes: [UInt8]) throws(Malformed) -> Holidays {
        let entries = try entries(bytes)
        var days: Set<CivilDate> = []
        var times: [Range<Timestamp>] = []
        var work = Self.maxWork
        let closing = entries.filter { $0.text("STATUS") != "CANCELLED" }
        if let first = closing.first, closing.allSatisfy({ $0.text("TRANSP") == "TRANSPARENT" }) {
            throw first.problem("all entries of the file have TRANSP:TRANSPARENT, so it contains no holiday")
        }
        // An entry with RECURRENCE-ID replaces one repetition of another entry.
        var replaced: [String: [ICalendarTime]] = [:]
        for entry in entries {
            guard let property = entry.property("RECURRENCE-ID") else { continue }
            replaced[entry.property("UID")?.value ?? "", default: []].append(try time(property))
        }
        for entry in closing where entry.text("TRANSP") != "TRANSPARENT" {
            guard let property = entry.property("DTSTART") else { throw entry.problem("the entry has no DTSTART") }
            let start = try time(property)
            var dates = try repetitions(of: entry, from: start, work: &work)
            if entry.property("RECURRENCE-ID") == nil {
                for time in replaced[entry.property("UID")?.value ?? ""] ?? [] { dates.remove(time.date(inEntryFrom: start)) }
            }
            let length = try length(of: entry, from: start)
            for date in dates {
                let count = if case .days(let count) = length { count } else { 1 }
                guard days.count + times.count + count <= Self.most else {
                    throw entry.problem("the file has more than \(Self.most) holidays")
                }
                switch length {
                case .days(let count): for day in 0..<count { days.insert(date.adding(days: day)) }
                case .time(let duration):
                    let begin = start.moment(on: date)
                    times.append(begin..<begin + duration)
                }
            }
        }
        return Holidays(days: days, times: times)
    }

    // MARK: Entries

    private func entries(_ bytes: [UInt8]) throws(Malformed) -> [Entry] {
        var entries: [Entry] = []
        var open: [String] = []
        var isCalendar = false
        for property in try Self.properties(bytes) {
            switch property.name {
            case "BEGIN":
                open.append(property.value.uppercased())
                isCalendar = isCalendar || open == ["VCALENDAR"]
                if open == ["VCALENDAR", "VEVENT"] { entries.append(Entry(line: property.line)) }
            case "END":
                guard open.popLast() == property.value.uppercased() else {
                    throw property.problem("END:\(property.value) has no BEGIN")
                }
            default: if open == ["VCALENDAR", "VEVENT"] { entries[entries.count - 1].properties.append(property) }
            }
        }
        guard isCalendar else {
            throw Malformed(line: 1, message: "the file is not an iCalendar file: it has no BEGIN:VCALENDAR")
        }
        guard let unclosed = open.last else { return entries }
        throw Malformed(line: entries.last?.line ?? 1, message: "the file ends within \(unclosed)")
    }

    /// The lines, with folded ones joined. A line may be folded within a character (RFC 5545, section 3.1), so
    /// bytes are joined before they are read as text.
    private static func properties(_ bytes: [UInt8]) throws(Malformed) -> [Property] {
        var lines: [(number: Int, bytes: [UInt8])] = []
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: mark) ? bytes[3...] : bytes[...]
        for (index, raw) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let line = raw.last == UInt8(ascii: "\r") ? raw.dropLast() : raw
            if let first = line.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t"), !lines.isEmpty {
                lines[lines.count - 1].bytes += line.dropFirst()
            } else if !line.isEmpty {
                lines.append((index + 1, Array(line)))
            }
        }
        var properties: [Property] = []
        for line in lines {
            guard let property = property(line.bytes, line: line.number) else {
                throw Malformed(line: line.number, message: "this is not a line of an iCalendar file")
            }
            properties.append(property)
        }
        return properties
    }

    /// Nil if it is not a property, or not UTF-8.
    private static func property(_ bytes: [UInt8], line: Int) -> Property? {
        var parts: [[UInt8]] = [[]]
        var isQuoted = false
        var end: Int?
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if byte == UInt8(ascii: ":"), !isQuoted {
                end = index
                break
            }
            if byte == UInt8(ascii: ";"), !isQuoted { parts.append([]) } else { parts[parts.count - 1].append(byte) }
        }
        let texts = parts.compactMap { String(validating: $0, as: UTF8.self) }
        guard let end, let value = String(validating: bytes[(end + 1)...], as: UTF8.self), texts.count == parts.count,
            !texts[0].isEmpty, texts[0].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
        else { return nil }
        var parameters: [String: String] = [:]
        for part in texts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { return nil }
            parameters[pair[0].uppercased()] = pair[1].filter { $0 != "\"" }
        }
        return Property(line: line, name: texts[0].uppercased(), parameters: parameters, value: value)
    }

    // MARK: Times

    private enum Length {
        case days(Int)
        case time(Duration)
    }

    private func time(_ property: Property) throws(Malformed) -> ICalendarTime {
        // RFC 5545, section 3.8.5.2: repetitions may be periods with a length of their own.
        if property.parameters["VALUE"]?.uppercased() == "PERIOD" {
            throw property.problem("\(property.name) with periods (VALUE=PERIOD) is not supported")
        }
        guard let time = ICalendarTime(property.value, zone: try zone(of: property)) else {
            throw property.problem("\(property.name):\(property.value) is not a date or a time")
        }
        return time
    }

    private func zone(of property: Property) throws(Malformed) -> TimeZoneTable {
        guard let name = property.parameters["TZID"] else { return zone }
        guard let zone = zones(name) else { throw property.problem("there is no time zone '\(name)'") }
        return zone
    }

    private func repetitions(of entry: Entry, from start: ICalendarTime, work: inout Int) throws(Malformed) -> Set<CivilDate> {
        var dates: Set<CivilDate> = [start.date]
        for property in entry.properties {
            switch property.name {
            case "RRULE":
                do throws(Recurrence.Problem) {
                    dates.formUnion(
                        try Recurrence(property.value, from: start).dates(from: start.date, until: last, work: &work))
                } catch {
                    throw property.problem(error.message)
                }
            case "RDATE":
                for time in try list(property) {
                    guard start.isWholeDay || time.moment(on: time.date) == start.moment(on: time.date(inEntryFrom: start)) else {
                        throw property.problem("RDATE with another time than DTSTART is not supported")
                    }
                    dates.insert(time.date(inEntryFrom: start))
                }
            case "EXRULE": throw property.problem("EXRULE is not supported")
            default: break
            }
        }
        for property in entry.properties where property.name == "EXDATE" {
            for time in try list(property) { dates.remove(time.date(inEntryFrom: start)) }
        }
        return dates
    }

    private func list(_ property: Property) throws(Malformed) -> [ICalendarTime] {
        try property.value.split(separator: ",").map { value throws(Malformed) in
            var one = property
            one.value = String(value)
            return try time(one)
        }
    }

    /// How long each repetition lasts; the end of whole days is exclusive (RFC 5545, section 3.6.1).
    private func length(of entry: Entry, from start: ICalendarTime) throws(Malformed) -> Length {
        if let property = entry.property("DTEND") {
            let end = try time(property)
            guard end.isWholeDay == start.isWholeDay else {
                throw property.problem("DTSTART is a day and DTEND a time, or the other way round")
            }
            if start.isWholeDay { return .days(max(end.date.daysSinceEpoch - start.date.daysSinceEpoch, 1)) }
            return .time(max(end.moment(on: end.date) - start.moment(on: start.date), .zero))
        }
        guard let property = entry.property("DURATION") else { return start.isWholeDay ? .days(1) : .time(.zero) }
        guard let duration = ICalendarTime.duration(property.value) else {
            throw property.problem("DURATION:\(property.value) is not a duration")
        }
        return start.isWholeDay ? .days(max(Int(duration / .days(1)), 1)) : .time(duration)
    }
}
