import BellhopCore
import Testing

@Suite struct `Holiday files` {
    private func holidays(_ entries: String..., until year: Int = 2030) throws -> Holidays {
        let text =
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n"
            + entries.map { "BEGIN:VEVENT\r\n\($0.replacing("\n", with: "\r\n"))\r\nEND:VEVENT\r\n" }.joined()
            + "END:VCALENDAR\r\n"
        return try read(text, until: year)
    }

    private func read(_ text: String, until year: Int = 2030) throws -> Holidays {
        let last = try #require(CivilDate(year: year, month: 12, day: 31))
        return try HolidayFile(zone: zone("Europe/Berlin"), zones: { try? zone($0) }, until: last).holidays(Array(text.utf8))
    }

    private func days(_ holidays: Holidays) -> [String] { holidays.days.sorted().map(\.description) }

    @Test func `an entry of whole days makes them holidays, except the day on which it ends`() throws {
        let found = try holidays("DTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20261227\nSUMMARY:Christmas")
        #expect(days(found) == ["2026-12-24", "2026-12-25", "2026-12-26"])
        #expect(try days(holidays("DTSTART;VALUE=DATE:20261224")) == ["2026-12-24"])
        #expect(try days(holidays("DTSTART;VALUE=DATE:20261224\nDURATION:P2D")) == ["2026-12-24", "2026-12-25"])
    }

    @Test func `an entry with times closes the calendar for that time, in the zone that it names`() throws {
        let found = try holidays(
            "DTSTART;TZID=America/New_York:20260703T120000\nDTEND;TZID=America/New_York:20260703T170000",
            "DTSTART:20260105T090000\nDURATION:PT1H30M", "DTSTART:20260106T090000Z\nDTEND:20260106T100000Z")
        #expect(
            found.times == [
                "2026-01-05T08:00Z"..<"2026-01-05T09:30Z", "2026-01-06T09:00Z"..<"2026-01-06T10:00Z",
                "2026-07-03T16:00Z"..<"2026-07-03T21:00Z",
            ])
    }

    @Test(arguments: [
        ("20260101", "FREQ=YEARLY", ["2026-01-01", "2027-01-01", "2028-01-01", "2029-01-01", "2030-01-01"]),
        ("20240229", "FREQ=YEARLY;COUNT=2", ["2024-02-29", "2028-02-29"]),
        ("20250101", "FREQ=YEARLY;INTERVAL=2;UNTIL=20290101", ["2025-01-01", "2027-01-01", "2029-01-01"]),
        ("20261126", "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH;COUNT=3", ["2026-11-26", "2027-11-25", "2028-11-23"]),
        ("20260525", "FREQ=YEARLY;BYMONTH=5;BYDAY=-1MO;COUNT=2", ["2026-05-25", "2027-05-31"]),
        ("20260131", "FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3", ["2026-01-31", "2026-02-28", "2026-03-31"]),
        ("20260131", "FREQ=MONTHLY;COUNT=3", ["2026-01-31", "2026-03-31", "2026-05-31"]),
        ("20260105", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;COUNT=4", ["2026-01-05", "2026-01-07", "2026-01-19", "2026-01-21"]),
        ("20260104", "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=SU;COUNT=3", ["2026-01-04", "2026-01-05", "2026-01-18"]),
        ("20260104", "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=MO;COUNT=3", ["2026-01-04", "2026-01-12", "2026-01-18"]),
        ("20260101", "FREQ=DAILY;INTERVAL=10;UNTIL=20260125T000000Z", ["2026-01-01", "2026-01-11", "2026-01-21"]),
        ("20260330", "FREQ=YEARLY;BYDAY=20MO;COUNT=2", ["2026-03-30", "2026-05-18"]),
    ])
    func `a recurrence rule is expanded to its days`(_ start: String, _ rule: String, _ expected: [String]) throws {
        #expect(try days(holidays("DTSTART;VALUE=DATE:\(start)\nRRULE:\(rule)")) == expected)
    }

    @Test(arguments: [
        ("20260106T080000Z", 2), ("20260106T075959Z", 1), ("20260106T090000", 2), ("20260106T085959", 1), ("20260106", 2),
    ])
    func `a repetition that begins after the end of its rule is left out`(_ end: String, _ count: Int) throws {
        let found = try holidays("DTSTART;TZID=Europe/Berlin:20260105T090000\nDURATION:PT1H\nRRULE:FREQ=DAILY;UNTIL=\(end)")
        #expect(found.times.count == count)
    }

    @Test(arguments: [
        ("America/New_York", "20260103T000000Z"), ("America/New_York", "20260103T050000Z"),
        ("America/New_York", "20260104T045959Z"), ("Europe/Berlin", "20260102T230000Z"), ("Europe/Berlin", "20260103T235959Z"),
    ])
    func `midnight or the last second of a day in UTC means that day in an entry of whole days`(_ zone: String, _ end: String)
        throws
    {
        let found = try holidays(
            "DTSTART;TZID=\(zone);VALUE=DATE:20260101\nRRULE:FREQ=DAILY;UNTIL=\(end)\nEXDATE:20260102T000000Z")
        #expect(days(found) == ["2026-01-01", "2026-01-03"])
    }

    @Test func `exceptions, additional days and replaced occurrences change the holidays`() throws {
        let found = try holidays(
            "UID:a\nDTSTART;VALUE=DATE:20260101\nRRULE:FREQ=YEARLY;COUNT=4\nEXDATE;VALUE=DATE:20270101\nRDATE;VALUE=DATE:20260601",
            "UID:a\nRECURRENCE-ID;VALUE=DATE:20280101\nDTSTART;VALUE=DATE:20280103",
            "UID:a\nRECURRENCE-ID;VALUE=DATE:20290101\nDTSTART;VALUE=DATE:20290101\nSTATUS:CANCELLED")
        #expect(days(found) == ["2026-01-01", "2026-06-01", "2028-01-03"])
    }

    @Test func `an exception in UTC applies to the day in the zone of the entry`() throws {
        let found = try holidays(
            "UID:a\nDTSTART;TZID=Australia/Sydney:20261221T080000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=4\n"
                + "EXDATE:20261227T210000Z", "UID:a\nRECURRENCE-ID:20270103T210000Z\nSTATUS:CANCELLED\nDTSTART:20270103T210000Z")
        #expect(found.times.map(\.lowerBound) == ["2026-12-20T21:00Z", "2027-01-10T21:00Z"])
    }

    @Test func `entries that are cancelled or take no time close nothing`() throws {
        let found = try holidays(
            "DTSTART;VALUE=DATE:20260101\nSTATUS:CANCELLED", "DTSTART;VALUE=DATE:20260102\nTRANSP:TRANSPARENT",
            "DTSTART;VALUE=DATE:20260103\nTRANSP:OPAQUE")
        #expect(days(found) == ["2026-01-03"])
    }

    @Test func `folded lines, quoted parameters, alarms and zones of the file are understood`() throws {
        let found = try read(
            "\u{FEFF}BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:Europe/Berlin\nBEGIN:STANDARD\nDTSTART:19701025T030000\nEND:STANDARD\n"
                + "END:VTIMEZONE\nBEGIN:VEVENT\nSUMMARY;ALTREP=\"cid:a:b;c\":New\n  Year\nDTSTART;VALUE=DATE:2026\n 0101\n"
                + "BEGIN:VALARM\nTRIGGER:-PT15M\nEND:VALARM\nEND:VEVENT\nEND:VCALENDAR\n")
        #expect(days(found) == ["2026-01-01"])
    }

    @Test(arguments: [
        ("DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=YEARLY;BYSETPOS=1;BYDAY=MO", 5, "BYSETPOS in a rule is not supported"),
        ("DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=HOURLY", 5, "FREQ=HOURLY is not supported"),
        ("DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=YEARLY;BYMONTH=13", 5, "BYMONTH=13 is not valid"),
        ("DTSTART;VALUE=DATE:20260231", 4, "DTSTART:20260231 is not a date or a time"),
        ("DTSTART;TZID=Europe/Atlantis:20260101T090000", 4, "there is no time zone 'Europe/Atlantis'"),
        ("SUMMARY:x", 3, "the entry has no DTSTART"),
        (
            "DTSTART:20260101T090000\nRDATE;VALUE=PERIOD:20260102T090000/PT1H", 5,
            "RDATE with periods (VALUE=PERIOD) is not supported"
        ),
        ("DTSTART:20260101T090000\nRDATE:20260102T140000", 5, "RDATE with another time than DTSTART is not supported"),
        (
            "DTSTART;VALUE=DATE:20260101\nTRANSP:TRANSPARENT", 3,
            "all entries of the file have TRANSP:TRANSPARENT, so it contains no holiday"
        ),
        ("what is this", 4, "this is not a line of an iCalendar file"),
    ])
    func `an unusable entry is refused with its line`(_ entry: String, _ line: Int, _ message: String) throws {
        do {
            _ = try holidays(entry)
            Issue.record("accepted")
        } catch let problem as HolidayFile.Malformed {
            #expect((problem.line, problem.message) == (line, message))
        }
    }

    @Test(arguments: [
        "", "<html></html>", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260101", "BEGIN:VCARD\nEND:VCARD\n", "\0\u{1}",
    ])
    func `truncated files and files of another format are refused`(_ text: String) throws {
        #expect(throws: HolidayFile.Malformed.self) { try read(text) }
    }

    @Test func `lines folded within a character, and odd characters, are read`() throws {
        var bytes = Array("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Weihn".utf8)
        bytes += [0xC3, 0x0D, 0x0A, 0x20, 0xA4]
        bytes += Array("chten\r\nDESCRIPTION:a\u{2028}b\r\nX-A:\u{FE0F}b\r\nDTSTART;VALUE=DATE:20261225\r\n".utf8)
        bytes += Array("END:VEVENT\r\nEND:VCALENDAR\r\n".utf8)
        let last = try #require(CivilDate(year: 2030, month: 12, day: 31))
        #expect(try days(HolidayFile(zone: .utc, zones: { _ in nil }, until: last).holidays(bytes)) == ["2026-12-25"])
    }

    @Test func `a file with an excessive recurrence or duration is refused`() throws {
        let never = "DTSTART;VALUE=DATE:00010101\nRRULE:FREQ=YEARLY;BYMONTHDAY=30;BYDAY=MO;COUNT=100000"
        #expect(throws: HolidayFile.Malformed.self) { try holidays(never, never, never, until: 99_999) }
        #expect(throws: HolidayFile.Malformed.self) { try holidays("DTSTART;VALUE=DATE:20261225\nDURATION:P999999W") }
        #expect(throws: HolidayFile.Malformed.self) {
            try holidays("DTSTART;VALUE=DATE:16010101\nDTEND;VALUE=DATE:16010201\nRRULE:FREQ=DAILY", until: 9000)
        }
    }
}
