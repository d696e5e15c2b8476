/// Reads the times of an iCalendar file, in the time zones that they name: the system's, and those that the file itself defines.
struct ICalendarReader {
    /// For times without a zone.
    private let zone: TimeZoneTable
    private var zones: [String: TimeZoneTable] = [:]
    /// The day until which repeated entries are followed.
    private let last: CivilDate

    private init(zone: TimeZoneTable, until last: CivilDate) { (self.zone, self.last) = (zone, last) }

    /// - Parameters:
    ///   - system: the system's zones. A zone that is not among them, such as Outlook's `W. Europe Standard Time`, is read from its
    ///     `VTIMEZONE`.
    ///   - work: how many days may be examined for repetitions.
    init(
        _ calendars: [ICalendarComponent], zone: TimeZoneTable, system: (String) -> TimeZoneTable?, until last: CivilDate,
        work: inout Int
    ) throws(HolidayFile.Malformed) {
        self.init(zone: zone, until: last)
        let components = calendars.flatMap(\.parts)
        var unknown: Set<String> = []
        for component in components {
            for property in component.properties {
                guard let name = property.zoneName, zones[name] == nil, !unknown.contains(name) else { continue }
                zones[name] = system(name)
                if zones[name] == nil { unknown.insert(name) }
            }
        }
        for component in components where component.name == "VTIMEZONE" {
            guard let property = component.property("TZID"), case let name = Self.plain(property.value),
                unknown.remove(name) != nil
            else { continue }
            zones[name] = try Self.zone(component, named: name, until: last, work: &work)
        }
    }

    func time(_ property: ICalendarProperty) throws(HolidayFile.Malformed) -> ICalendarTime {
        // RFC 5545, section 3.8.5.2: repetitions may be periods with a length of their own.
        if property.parameters["VALUE"]?.uppercased() == "PERIOD" {
            throw property.problem("\(property.name) with periods (VALUE=PERIOD) is not supported")
        }
        var zone = zone
        if let name = property.zoneName {
            guard let named = zones[name] else { throw property.problem("there is no time zone '\(name)'") }
            zone = named
        }
        guard let time = ICalendarTime(property.value, zone: zone) else {
            throw property.problem("\(property.name):\(property.value) is not a date or a time")
        }
        return time
    }

    /// The times of a list with commas.
    private func times(_ property: ICalendarProperty) throws(HolidayFile.Malformed) -> [ICalendarTime] {
        try property.value.split(separator: ",").map { value throws(HolidayFile.Malformed) in
            var one = property
            one.value = String(value)
            return try time(one)
        }
    }

    // MARK: Repetitions

    /// The days on which an entry begins.
    func repetitions(
        of entry: ICalendarComponent, from start: ICalendarTime, work: inout Int
    ) throws(HolidayFile.Malformed) -> Set<CivilDate> {
        var dates = try ruleDates(of: entry, from: start, work: &work)
        for property in entry.properties where property.name == "RDATE" {
            for time in try times(property) {
                guard start.isWholeDay || time.moment(on: time.date) == start.moment(on: time.date(inEntryFrom: start)) else {
                    throw property.problem("RDATE with another time than DTSTART is not supported")
                }
                dates.insert(time.date(inEntryFrom: start))
            }
        }
        for property in entry.properties where property.name == "EXDATE" {
            for time in try times(property) { dates.remove(time.date(inEntryFrom: start)) }
        }
        return dates
    }

    /// The first day and those of recurrence rules.
    private func ruleDates(
        of component: ICalendarComponent, from start: ICalendarTime, work: inout Int
    ) throws(HolidayFile.Malformed) -> Set<CivilDate> {
        var dates: Set<CivilDate> = [start.date]
        for property in component.properties {
            switch property.name {
            case "RRULE":
                do throws(Recurrence.Problem) {
                    dates.formUnion(
                        try Recurrence(property.value, from: start).dates(from: start.date, until: last, work: &work))
                } catch {
                    throw property.problem(error.message)
                }
            case "EXRULE": throw property.problem("EXRULE is not supported")
            default: break
            }
        }
        return dates
    }

    // MARK: Zones

    /// The zone that a `VTIMEZONE` defines (RFC 5545, section 3.6.5).
    private static func zone(
        _ definition: ICalendarComponent, named name: String, until last: CivilDate, work: inout Int
    ) throws(HolidayFile.Malformed) -> TimeZoneTable {
        // The first type is that before all changes.
        var types = [LocalTimeType(offset: 0, abbreviation: "")]
        var changes: [(at: Int64, from: Int, type: UInt8)] = []
        for part in definition.parts where part.name == "STANDARD" || part.name == "DAYLIGHT" {
            guard let property = part.property("DTSTART"), let from = part.property("TZOFFSETFROM").flatMap({ offset($0.value) }),
                let to = part.property("TZOFFSETTO").flatMap({ offset($0.value) }), types.count < 256
            else { throw part.problem("the time zone '\(name)' lacks a valid DTSTART, TZOFFSETFROM or TZOFFSETTO") }
            // A change is written in the time of the clock before it.
            let clock = LocalTimeType(offset: from, abbreviation: "")
            let reader = ICalendarReader(
                zone: TimeZoneTable(name: name, transitions: [], typeAfter: [], types: [clock], rule: nil), until: last)
            let start = try reader.time(property)
            var moments = try reader.ruleDates(of: part, from: start, work: &work).map { start.moment(on: $0) }
            for property in part.properties where property.name == "RDATE" {
                moments += try reader.times(property).map { $0.moment(on: $0.date) }
            }
            for moment in moments { changes.append((moment.seconds, from, UInt8(types.count))) }
            types.append(LocalTimeType(offset: to, abbreviation: ""))
        }
        changes.sort { $0.at < $1.at }
        guard let first = changes.first else { throw definition.problem("the time zone '\(name)' has no offset") }
        types[0].offset = first.from
        return TimeZoneTable(
            name: name, transitions: changes.map(\.at), typeAfter: changes.map(\.type), types: types, rule: nil)
    }

    /// Seconds east of UTC, from `+0200` or `-033015`; nil for any other text.
    private static func offset(_ text: String) -> Int? {
        guard text.hasPrefix("+") || text.hasPrefix("-"), text.utf8.count == 5 || text.utf8.count == 7,
            let number = TimeReader.number(String(text.dropFirst()), digits: 4...6)
        else { return nil }
        let digits = text.utf8.count == 5 ? number * 100 : number
        let (hours, minutes, seconds) = (digits / 10_000, digits / 100 % 100, digits % 100)
        guard hours < 24, minutes < 60, seconds < 60 else { return nil }
        return (hours * 3600 + minutes * 60 + seconds) * (text.hasPrefix("-") ? -1 : 1)
    }

    /// A zone's name as such: as a parameter it has quotes (`"(UTC+01:00) Berlin, Rome"`), as a property backslashes
    /// (`(UTC+01:00) Berlin\, Rome`).
    fileprivate static func plain(_ name: String) -> String { name.filter { $0 != "\"" && $0 != "\\" } }
}

extension ICalendarProperty {
    /// The zone that its times name.
    fileprivate var zoneName: String? { parameters["TZID"].map(ICalendarReader.plain) }
}
