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
        // The last working day of a month, the fourth Thursday, and Saturday or Sunday, whichever comes first.
        (
            "20260130", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=4",
            ["2026-01-30", "2026-02-27", "2026-03-31", "2026-04-30"]
        ),
        ("20261126", "FREQ=YEARLY;BYMONTH=11;BYDAY=TH;BYSETPOS=4;UNTIL=20281123", ["2026-11-26", "2027-11-25", "2028-11-23"]),
        ("20260103", "FREQ=MONTHLY;BYDAY=SA,SU;BYSETPOS=1;COUNT=3", ["2026-01-03", "2026-02-01", "2026-03-01"]),
        ("20260114", "FREQ=MONTHLY;BYMONTHDAY=13,14,15;BYSETPOS=2,-1;COUNT=3", ["2026-01-14", "2026-01-15", "2026-02-14"]),
        ("20260109", "FREQ=WEEKLY;BYDAY=MO,WE,FR;BYSETPOS=-1;UNTIL=20260122", ["2026-01-09", "2026-01-16"]),
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

    @Test func `a replacement of all later repetitions moves them until the next one`() throws {
        let found = try holidays(
            "UID:a\nDTSTART;TZID=Europe/Berlin:20261005T090000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=7",
            "UID:a\nRECURRENCE-ID;TZID=Europe/Berlin;RANGE=THISANDFUTURE:20261019T090000\n"
                + "DTSTART;TZID=Europe/Berlin:20261020T140000\nDURATION:PT2H",
            "UID:a\nRECURRENCE-ID;TZID=Europe/Berlin:20261026T090000\nSTATUS:CANCELLED\nDTSTART:20261026T090000",
            "UID:a\nRECURRENCE-ID;RANGE=THISANDFUTURE:20261109T080000Z\nSTATUS:CANCELLED\nDTSTART:20261109T080000Z")
        #expect(
            found.times == [
                "2026-10-05T07:00Z"..<"2026-10-05T08:00Z", "2026-10-12T07:00Z"..<"2026-10-12T08:00Z",
                "2026-10-20T12:00Z"..<"2026-10-20T14:00Z", "2026-11-03T13:00Z"..<"2026-11-03T15:00Z",
            ])
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
        ("DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO", 5, "BYWEEKNO in a rule is not supported"),
        ("DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=YEARLY;BYSETPOS=0;BYDAY=MO", 5, "BYSETPOS=0 is not valid"),
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

    /// A calendar with the zone that Outlook writes for Berlin or another definition.
    private func outlook(_ entries: String, _ definition: String? = nil) throws -> Holidays {
        let berlin = """
            TZID:W. Europe Standard Time
            BEGIN:STANDARD
            DTSTART:16010101T030000
            TZOFFSETFROM:+0200
            TZOFFSETTO:+0100
            RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10
            END:STANDARD
            BEGIN:DAYLIGHT
            DTSTART:16010101T020000
            TZOFFSETFROM:+0100
            TZOFFSETTO:+0200
            RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3
            END:DAYLIGHT
            """
        return try read(
            "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\n\(definition ?? berlin)\nEND:VTIMEZONE\nBEGIN:VEVENT\n\(entries)\nEND:VEVENT\n"
                + "END:VCALENDAR\n")
    }

    @Test func `times are read in the zones that a file defines under names of its own`() throws {
        // Weekly over both changes of the clock, of which one is on 2026-03-29, the other on 2026-10-25.
        let found = try outlook(
            "DTSTART;TZID=W. Europe Standard Time:20260323T090000\nDTEND;TZID=W. Europe Standard Time:20260323T100000\n"
                + "RRULE:FREQ=WEEKLY;UNTIL=20261026T080000Z\nEXDATE;TZID=W. Europe Standard Time:20260330T090000")
        #expect(found.times.prefix(2).map(\.lowerBound) == ["2026-03-23T08:00Z", "2026-04-06T07:00Z"])
        #expect(found.times.suffix(2).map(\.lowerBound) == ["2026-10-19T07:00Z", "2026-10-26T08:00Z"])
    }

    @Test(
        arguments: [
            // A zone without changes, whose name is quoted in one place and escaped in the other.
            (
                "TZID:(UTC+05:30) Chennai\\, Kolkata\nBEGIN:STANDARD\nDTSTART:16010101T000000\nTZOFFSETFROM:+0530\n"
                    + "TZOFFSETTO:+0530\nEND:STANDARD", "\"(UTC+05:30) Chennai, Kolkata\"", ["20260701T120000"],
                ["2026-07-01T06:30Z"]
            ),
            // A change on a listed day, and the last one of a rule with an end.
            (
                "TZID:Here\nBEGIN:DAYLIGHT\nDTSTART:20200329T020000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\n"
                    + "RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU;UNTIL=20260329T010000Z\nEND:DAYLIGHT\nBEGIN:STANDARD\n"
                    + "DTSTART:20201025T030000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nRDATE:20241027T030000,20251101T040000\n"
                    + "END:STANDARD", "Here", ["20251101T030000", "20251101T040000", "20260329T030000"],
                ["2025-11-01T01:00Z", "2025-11-01T03:00Z", "2026-03-29T01:00Z"]
            ),
            // The time before the first change.
            (
                "TZID:There\nBEGIN:STANDARD\nDTSTART:20260601T000000\nTZOFFSETFROM:-033015\nTZOFFSETTO:-0400\nEND:STANDARD",
                "There", ["20260101T120000"], ["2026-01-01T15:30:15Z"]
            ),
        ] as [(String, String, [String], [Timestamp])])
    func `a zone of a file has its own changes`(
        _ definition: String, _ name: String, _ starts: [String], _ moments: [Timestamp]
    ) throws {
        let entries = starts.map { "DTSTART;TZID=\(name):\($0)\nDURATION:PT1H" }
        let found = try outlook(entries.joined(separator: "\nEND:VEVENT\nBEGIN:VEVENT\n"), definition)
        #expect(found.times.map(\.lowerBound) == moments)
    }

    @Test func `a zone of a file that cannot be used is refused where it is needed`() throws {
        let definition = "TZID:Here\nBEGIN:STANDARD\nDTSTART:16010101T000000\nTZOFFSETFROM:+0100\nTZOFFSETTO:1h\nEND:STANDARD"
        let problem = #expect(throws: HolidayFile.Malformed.self) {
            try outlook("DTSTART;TZID=Here:20260101T090000\nDURATION:PT1H", definition)
        }
        #expect(problem?.line == 4)
        #expect(problem?.message == "the time zone 'Here' lacks a valid DTSTART, TZOFFSETFROM or TZOFFSETTO")
        #expect(try days(outlook("DTSTART;VALUE=DATE:20260101", definition)) == ["2026-01-01"])
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
        bytes += Array("chten\r\nDESCRIPTION:a\u{2028}b\r\nX-A:\u{FE0F}b\r\nLOCATION:D".utf8)
        // Latin-1, as old programs write it.
        bytes += [0xFC]
        bytes += Array("sseldorf\r\nDTSTART;VALUE=DATE:20261225\r\n".utf8)
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
