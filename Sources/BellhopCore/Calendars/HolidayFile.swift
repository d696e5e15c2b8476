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

    private let zone: TimeZoneTable
    private let zones: @Sendable (String) -> TimeZoneTable?
    private let last: CivilDate

    /// - Parameters:
    ///   - zone: for times without a zone.
    ///   - zones: the system's zones, which times may name beside those that the file defines.
    ///   - last: the day until which repeated entries are followed.
    public init(zone: TimeZoneTable, zones: @escaping @Sendable (String) -> TimeZoneTable?, until last: CivilDate) {
        (self.zone, self.zones, self.last) = (zone, zones, last)
    }

    /// The most holidays, which limits the memory that a file can use.
    private static let most = 100_000

    /// The most days that are examined for repeated entries, which limits the time that a file can take.
    private static let maxWork = 5_000_000

    public func holidays(_ bytes: [UInt8]) throws(Malformed) -> Holidays {
        var entries = try HolidayEntries(bytes, zone: zone, zones: zones, until: last, work: Self.maxWork)
        let closing = entries.all.filter { $0.text("STATUS") != "CANCELLED" }
        if let first = closing.first, closing.allSatisfy({ $0.text("TRANSP") == "TRANSPARENT" }) {
            throw first.problem("all entries of the file have TRANSP:TRANSPARENT, so it contains no holiday")
        }
        var days: Set<CivilDate> = []
        var times: [Range<Timestamp>] = []
        for entry in closing where entry.text("TRANSP") != "TRANSPARENT" {
            let start = try entries.start(of: entry)
            let length = try entries.length(of: entry, from: start)
            for date in try entries.dates(of: entry, from: start) {
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
}

/// The entries of a file, and when they take place.
private struct HolidayEntries {
    let all: [ICalendarComponent]
    private let reader: ICalendarReader
    /// Entries with `RECURRENCE-ID`, by their `UID`.
    private let replacements: [String: [ICalendarComponent]]
    /// How many more days may be examined for repetitions.
    private var work: Int

    init(
        _ bytes: [UInt8], zone: TimeZoneTable, zones: (String) -> TimeZoneTable?, until last: CivilDate, work: Int
    ) throws(HolidayFile.Malformed) {
        let calendars = try ICalendarComponent.calendars(bytes)
        var left = work
        reader = try ICalendarReader(calendars, zone: zone, system: zones, until: last, work: &left)
        self.work = left
        all = calendars.flatMap(\.parts).filter { $0.name == "VEVENT" }
        replacements = Dictionary(grouping: all.filter { $0.property("RECURRENCE-ID") != nil }, by: \.series)
    }

    func start(of entry: ICalendarComponent) throws(HolidayFile.Malformed) -> ICalendarTime {
        guard let property = entry.property("DTSTART") else { throw entry.problem("the entry has no DTSTART") }
        return try reader.time(property)
    }

    // MARK: Days

    /// The days on which an entry begins. An entry with `RECURRENCE-ID` replaces one repetition of another entry or, with
    /// `RANGE=THISANDFUTURE`, that and all later ones.
    mutating func dates(
        of entry: ICalendarComponent, from start: ICalendarTime
    ) throws(HolidayFile.Malformed) -> Set<CivilDate> {
        guard let replaced = entry.property("RECURRENCE-ID") else { return try remaining(of: entry, from: start) }
        guard try replacesLater(replaced),
            let original = all.first(where: { $0.series == entry.series && $0.property("RECURRENCE-ID") == nil })
        else { return try reader.repetitions(of: entry, from: start, work: &work) }
        let originalStart = try self.start(of: original)
        let first = try reader.time(replaced).date(inEntryFrom: originalStart)
        // All are moved by as many days as the first.
        let distance = start.date.daysSinceEpoch - first.daysSinceEpoch
        let days = try remaining(of: original, from: originalStart, after: first)
        return Set(days.filter { $0 >= first }.map { $0.adding(days: distance) })
    }

    /// The repetitions of an entry that no other entry replaces.
    /// - Parameter first: only replacements of later days count; nil for all.
    private mutating func remaining(
        of entry: ICalendarComponent, from start: ICalendarTime, after first: CivilDate? = nil
    ) throws(HolidayFile.Malformed) -> Set<CivilDate> {
        var days = try reader.repetitions(of: entry, from: start, work: &work)
        for replacement in replacements[entry.series] ?? [] {
            guard let property = replacement.property("RECURRENCE-ID") else { continue }
            let date = try reader.time(property).date(inEntryFrom: start)
            if let first, date <= first { continue }
            days.remove(date)
            if try replacesLater(property) { days = days.filter { $0 < date } }
        }
        return days
    }

    /// Whether an entry with this `RECURRENCE-ID` also replaces all later repetitions.
    private func replacesLater(_ property: ICalendarProperty) throws(HolidayFile.Malformed) -> Bool {
        guard let range = property.parameters["RANGE"]?.uppercased() else { return false }
        guard range == "THISANDFUTURE" else { throw property.problem("RANGE=\(range) is not supported") }
        return true
    }

    // MARK: Lengths

    enum Length {
        case days(Int)
        case time(Duration)
    }

    /// How long each repetition lasts; the end of whole days is exclusive (RFC 5545, section 3.6.1).
    func length(of entry: ICalendarComponent, from start: ICalendarTime) throws(HolidayFile.Malformed) -> Length {
        if let property = entry.property("DTEND") {
            let end = try reader.time(property)
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

extension ICalendarComponent {
    /// What an entry and its replacements share.
    fileprivate var series: String { property("UID")?.value ?? "" }
}
