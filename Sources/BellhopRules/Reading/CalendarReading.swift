public import BellhopCore
public import YAML

/// A calendar of bellhop.yaml, whose files of holidays are read when the rules are.
public struct CalendarEntry: Sendable {
    public var name: String
    /// With the holidays that bellhop.yaml itself lists.
    public var calendar: WorkCalendar
    public var files: [File]
    /// Its name in the file that declares it.
    public var place: Diagnostic.Place

    /// A file of holidays.
    public struct File: Sendable {
        /// Resolved against the folder of the file that names it.
        public var path: String
        public var place: Diagnostic.Place
    }

    /// The calendars with the holidays of their files.
    /// - Parameter bytes: reads a file of holidays of the calendar of this name; nil if there is none.
    public static func calendars(
        _ entries: [CalendarEntry], at now: Timestamp, zones: @escaping @Sendable (String) -> TimeZoneTable?,
        bytes: (_ calendar: String, _ file: String) throws(Diagnostic) -> [UInt8]?
    ) throws(Diagnostics) -> [String: WorkCalendar] {
        var calendars: [String: WorkCalendar] = [:]
        var problems = Diagnostics()
        for entry in entries {
            var holidays = entry.calendar.holidays
            for file in entry.files {
                do throws(Diagnostic) {
                    holidays = holidays.union(try entry.holidays(file, try bytes(entry.name, file.path), at: now, zones))
                } catch {
                    var problem = error
                    if problem.place == nil { problem.place = file.place }
                    problems.report(problem)
                }
            }
            calendars[entry.name] = WorkCalendar(zone: entry.calendar.zone, hours: entry.calendar.hours, holidays: holidays)
        }
        if problems.hasErrors { throw problems }
        for entry in entries where calendars[entry.name]?.opening(after: now) == nil {
            problems.report(
                Diagnostic(
                    code: "never-open", "calendar `\(entry.name)` is not open within the next ten years", at: entry.place,
                    help: "change its `days`, `hours` or `holidays`"))
        }
        if problems.hasErrors { throw problems }
        return calendars
    }

    /// A warning for each calendar with a file of holidays whose holidays are all over: the file is probably that of an earlier year.
    public static func outdated(
        _ entries: [CalendarEntry], _ calendars: [String: WorkCalendar], at now: Timestamp
    ) -> [Diagnostic] {
        entries.compactMap { entry -> Diagnostic? in
            guard let file = entry.files.last, let calendar = calendars[entry.name],
                !calendar.holidays.haveAny(from: calendar.zone.local(now).date, in: calendar.zone)
            else { return nil }
            return Diagnostic(
                .warning, code: "old-holidays", "calendar `\(entry.name)` has no holidays from today on", at: file.place,
                help: "replace the file by one with the holidays of this year and the next")
        }
    }

    private func holidays(
        _ file: File, _ bytes: [UInt8]?, at now: Timestamp, _ zones: @escaping @Sendable (String) -> TimeZoneTable?
    ) throws(Diagnostic) -> Holidays {
        guard let bytes else {
            throw Diagnostic(
                code: "missing-file", "the file `\(file.path)` of calendar `\(name)` does not exist", at: file.place,
                help: "correct the path, which is relative to \(file.place.file)")
        }
        let last = calendar.zone.local(now).date.adding(days: WorkCalendar.reach)
        do throws(HolidayFile.Malformed) {
            return try HolidayFile(zone: calendar.zone, zones: zones, until: last).holidays(bytes)
        } catch {
            throw Diagnostic(
                code: "bad-holidays", error.message, at: Diagnostic.Place(file: file.path, line: error.line, column: 1),
                help: "correct the file, or list its days in \(file.place.file) instead")
        }
    }
}

/// Reads `calendars`.
public struct CalendarReading {
    let file: String
    let folder: String
    /// The file's zone.
    let zone: TimeZoneTable
    /// A zone by its name; reports an unknown one.
    let zones: (_ name: String, _ node: Node, _ reader: inout SettingsReader<Never>) -> TimeZoneTable?

    /// - Parameter folder: of the files that calendars name, with a slash at its end.
    public init(
        file: String, folder: String, zone: TimeZoneTable,
        zones: @escaping (_ name: String, _ node: Node, _ reader: inout SettingsReader<Never>) -> TimeZoneTable?
    ) {
        (self.file, self.folder, self.zone, self.zones) = (file, folder, zone, zones)
    }

    public static let settings: [Setting] = [
        Setting("timezone", .name, "The calendar's time zone; by default the file's."),
        Setting(
            "days", .text, default: "*",
            "The weekdays, as in a cron expression: `MON-FRI`; hours may name their own. Hours past midnight belong to the day on which they begin."
        ),
        Setting(
            "hours", .text, default: "00:00-24:00",
            "The hours, separated by commas: `08:00-12:00, 13:00-17:30`, or with weekdays: `MON-THU 08:00-17:00, FRI 08:00-14:00`."
        ),
        Setting(
            "holidays", .list(.text),
            "Days such as `2026-12-25`, and iCalendar files, whose entries are closed. The files are read again with the rules."),
    ]

    public func entries(_ settings: Settings?, _ node: Node?, _ reader: inout SettingsReader<Never>) -> [CalendarEntry] {
        guard let settings, let mapping = node?.mapping else { return [] }
        return mapping.compactMap { pair -> CalendarEntry? in
            guard let values = settings.record(pair.name) else { return nil }
            var zone = zone
            if let name = values.text("timezone"), let place = pair.value["timezone"] {
                zone = zones(name, place, &reader) ?? zone
            }
            let days = parsed(pair.value["days"], Set(Weekday.allCases), &reader) { text throws(TimeTextError) in
                try HoursWindow.days(text)
            }
            let hours: [HoursWindow]? = parsed(pair.value["hours"], nil, &reader) { text throws(TimeTextError) in
                try HoursWindow.list(text, days: days)
            }
            let (dates, files) = holidays(values.texts("holidays"), pair.value["holidays"], &reader)
            guard let whole = try? HoursWindow("00:00-24:00", days: days) else { return nil }
            return CalendarEntry(
                name: pair.name, calendar: WorkCalendar(zone: zone, hours: hours ?? [whole], holidays: Holidays(days: dates)),
                files: files, place: Diagnostic.Place(pair.key, file: file))
        }
    }

    private func parsed<Value>(
        _ node: Node?, _ standard: Value, _ reader: inout SettingsReader<Never>, _ parse: (String) throws(TimeTextError) -> Value
    ) -> Value {
        guard let node, let text = node.scalarText else { return standard }
        do throws(TimeTextError) {
            return try parse(text)
        } catch {
            let place = Diagnostic.Place(node, utf8: error.offset..<error.offset + max(error.length, 1), file: file)
            reader.report(Diagnostic(code: "bad-hours", error.message, at: place, help: error.help))
            return standard
        }
    }

    /// The days and the files of a list: an entry that is not a day must end in `.ics`.
    private func holidays(
        _ texts: [String], _ node: Node?, _ reader: inout SettingsReader<Never>
    ) -> (Set<CivilDate>, [CalendarEntry.File]) {
        guard let list = node else { return ([], []) }
        var dates: Set<CivilDate> = []
        var files: [CalendarEntry.File] = []
        let nodes = list.items ?? [list]
        for (number, text) in texts.enumerated() {
            let node = nodes.count == texts.count ? nodes[number] : list
            if let date = CivilDate(text) {
                dates.insert(date)
            } else if text.hasSuffix(".ics") {
                let path = text.hasPrefix("/") ? text : folder + text
                files.append(CalendarEntry.File(path: path, place: Diagnostic.Place(node, file: file)))
            } else {
                reader.report(
                    code: "wrong-value", "`\(text)` is neither a day nor an iCalendar file", at: node,
                    help: "write a day such as `2026-12-25`, or the name of a file that ends in .ics")
            }
        }
        return (dates, files)
    }
}
