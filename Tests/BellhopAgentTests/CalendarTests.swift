import BellhopAgent
import BellhopCore
import BellhopRules
import BellhopTesting
import Testing

@Suite struct `Calendars in bellhop.yaml` {
    private let base: ConfigurationTests
    private static let monday = Timestamp(seconds: 1_767_603_600)  // 2026-01-05T09:00:00Z

    init() throws { base = try ConfigurationTests() }

    private func read(_ calendars: String) async throws -> [String: WorkCalendar] {
        let configuration = try await base.load("version: 1\ntimezone: Europe/Berlin\ncalendars:\n" + calendars)
        return try CalendarEntry.read(configuration.calendars, at: Self.monday)
    }

    @Test func `a calendar has its days, hours and holidays, and those of its files, read again each time`() async throws {
        let text = """
              office: {days: MON-FRI, hours: "08:00-12:00, 13:00-17:30", holidays: [2026-12-25, holidays.ics]}
              tokyo: {timezone: Asia/Tokyo}

            """
        let event = { (day: String) in "BEGIN:VEVENT\nDTSTART;VALUE=DATE:\(day)\nEND:VEVENT\n" }
        try base.folder.write("holidays.ics", "BEGIN:VCALENDAR\n\(event("20260106"))END:VCALENDAR\n")
        let configuration = try await base.load("version: 1\ntimezone: Europe/Berlin\ncalendars:\n" + text)
        let office = try #require(try CalendarEntry.read(configuration.calendars, at: Self.monday)["office"])
        #expect(office.zone.name == "Europe/Berlin")
        #expect(office.isOpen(at: Self.monday) && !office.isOpen(at: Self.monday + .seconds(2 * 3600)))
        #expect(office.holidays.days.map(\.description).sorted() == ["2026-01-06", "2026-12-25"])
        try base.folder.write("holidays.ics", "BEGIN:VCALENDAR\n\(event("20260107"))END:VCALENDAR\n")
        let again = try CalendarEntry.read(configuration.calendars, at: Self.monday)
        #expect(again["office"]?.holidays.days.map(\.description).sorted() == ["2026-01-07", "2026-12-25"])
        #expect(again["tokyo"]?.zone.name == "Asia/Tokyo")
        #expect(again["tokyo"]?.isOpen(at: Self.monday) == true)
    }

    @Test(arguments: [
        ("{hours: \"8-12\"}", "2:25: '8' is not a time of day [bad-hours] (write 00:00 to 23:59)"),
        ("{hours: \"08:00-12:00, 13:00\"}", "2:38: hours have a beginning and an end [bad-hours] (for example 22:00-07:00)"),
        ("{days: MON-FOO}", "[bad-hours]"),
        ("{timezone: Europe/Atlantis}", "there is no time zone `Europe/Atlantis` [unknown-time-zone]"),
        ("{holidays: [2026-02-31]}", "`2026-02-31` is neither a day nor an iCalendar file [wrong-value]"),
        ("{holiday: [2026-02-01]}", "holiday"),
    ])
    func `a mistake in a calendar is reported with its place`(_ calendar: String, _ wanted: String) async throws {
        let problems = await base.problems("version: 1\ncalendars: {a: \(calendar)}")
        #expect(problems.count == 1 && problems[0].contains(wanted), "\(problems)")
    }

    @Test(arguments: [
        ("{holidays: [missing.ics]}", "missing-file"), ("{holidays: [bad.ics]}", "bad-holidays"),
        ("{holidays: [always.ics]}", "never-open"),
    ])
    func `unusable files of holidays and calendars that are never open are refused`(_ calendar: String, _ code: String)
        async throws
    {
        try base.folder.write("bad.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:x\nEND:VEVENT\nEND:VCALENDAR\n")
        try base.folder.write(
            "always.ics",
            "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20250101\nRRULE:FREQ=DAILY\nEND:VEVENT\nEND:VCALENDAR\n")
        do {
            _ = try await read("  a: \(calendar)\n")
            Issue.record("accepted")
        } catch let problems as Diagnostics {
            #expect(problems.all.map(\.code) == [code])
            if code == "bad-holidays" { #expect(problems.all.first?.place?.line == 3) }
        }
    }
}
