import BellhopCore
import Testing

@Suite struct `Quiet times` {
    private static func time(_ hours: String, _ days: String = "*", in name: String = "Europe/Berlin") throws -> QuietTime {
        let windows = try HoursWindow.list(hours, days: try HoursWindow.days(days))
        return QuietTime(.during(WorkCalendar(zone: try zone(name), hours: windows)))
    }

    @Test(
        arguments: [
            // In Berlin, in winter: one hour ahead of UTC. 2026-01-09 is a Friday.
            ("22:00-07:00", "*", "2026-01-09T20:59:59Z", nil),
            ("22:00-07:00", "*", "2026-01-09T21:00:00Z", "2026-01-10T06:00Z"),
            ("22:00-07:00", "*", "2026-01-10T05:59:59Z", "2026-01-10T06:00Z"),
            ("22:00-07:00", "*", "2026-01-10T06:00:00Z", nil),
            // The day is that on which the quiet time begins.
            ("22:00-07:00", "MON-FRI", "2026-01-10T02:00:00Z", "2026-01-10T06:00Z"),
            ("22:00-07:00", "MON-FRI", "2026-01-12T02:00:00Z", nil),
            ("22:00-07:00", "MON-FRI", "2026-01-10T22:00:00Z", nil),
            ("00:00-24:00", "SAT,SUN", "2026-01-10T12:00:00Z", "2026-01-11T23:00Z"),
            ("18:00-24:00, 00:00-08:00", "*", "2026-01-09T20:00:00Z", "2026-01-10T07:00Z"),
            ("12:00-13:00, 22:00-07:00", "*", "2026-01-09T11:30:00Z", "2026-01-09T12:00Z"),
            // The clock is put forward on 2026-03-29 at 02:00: 02:30 is the moment at which it is.
            ("22:00-02:30", "*", "2026-03-28T23:00:00Z", "2026-03-29T01:00Z"),
            ("02:30-07:00", "*", "2026-03-29T00:59:59Z", nil),
            ("02:30-07:00", "*", "2026-03-29T01:00:00Z", "2026-03-29T05:00Z"),
            // It is put back on 2026-10-25 at 03:00: the first 02:30 counts.
            ("22:00-02:30", "*", "2026-10-24T22:00:00Z", "2026-10-25T00:30Z"),
            ("22:00-02:30", "*", "2026-10-25T01:15:00Z", nil),
            ("02:30-07:00", "*", "2026-10-25T00:30:00Z", "2026-10-25T06:00Z"),
            // A leap day.
            ("22:00-07:00", "*", "2028-02-28T23:00:00Z", "2028-02-29T06:00Z"),
            ("22:00-07:00", "*", "2028-02-29T23:00:00Z", "2028-03-01T06:00Z"),
        ] as [(String, String, Timestamp, Timestamp?)])
    func `a quiet time lasts until its first end`(
        _ hours: String, _ days: String, _ moment: Timestamp, _ end: Timestamp?
    ) throws {
        #expect(try Self.time(hours, days).end(at: moment) == end)
    }

    @Test func `a quiet time outside a calendar lasts while the calendar is closed, also on holidays`() throws {
        let hours = try HoursWindow.list("08:00-12:00, 13:00-17:00", days: try HoursWindow.days("MON-FRI"))
        let holidays = Holidays(days: [try #require(CivilDate("2026-01-12"))])
        let office = WorkCalendar(zone: .utc, hours: hours, holidays: holidays)
        let time = QuietTime(.outside(office, name: "office"))
        // From Friday at five to Tuesday at eight, because Monday is a holiday.
        #expect(time.end(at: "2026-01-09T16:59:59Z") == nil)
        #expect(time.end(at: "2026-01-09T17:00:00Z") == "2026-01-13T08:00Z")
        #expect(time.end(at: "2026-01-12T10:00:00Z") == "2026-01-13T08:00Z")
        #expect(time.end(at: "2026-01-13T12:00:00Z") == "2026-01-13T13:00Z")
        #expect(time.end(at: "2026-01-13T13:00:00Z") == nil)
        let never = QuietTime(.outside(WorkCalendar(zone: .utc, hours: []), name: "never"))
        #expect(never.end(at: "2026-01-13T13:00:00Z") == nil)
    }

    @Test func `a quiet time whose hours leave no gap never ends`() throws {
        for hours in ["00:00-24:00", "22:00-12:00, 12:00-22:00", "06:00-05:00, 04:00-07:00"] {
            #expect(try Self.time(hours).neverEnds, "\(hours)")
        }
        for (hours, days) in [("00:00-23:59", "*"), ("00:00-24:00", "MON-SAT"), ("22:00-07:00", "*")] {
            #expect(try !Self.time(hours, days).neverEnds, "\(hours) \(days)")
        }
    }

    /// The model reads the wall clock alone, minute by minute.
    @Test(arguments: [
        "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia", "Africa/Casablanca",
    ])
    func `a quiet time agrees with the wall clock at random moments`(
        _ name: String
    ) throws {
        let zone = try zone(name)
        var random = SeededRandom(seed: 7)
        for _ in 1...40 {
            let (start, end) = (Int.random(in: 0..<96, using: &random) * 15, Int.random(in: 1...96, using: &random) * 15)
            if start == end { continue }
            func text(_ minute: Int) -> String {
                let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
                return "\(two(minute / 60)):\(two(minute % 60))"
            }
            let days = Set(Weekday.allCases.filter { _ in Bool.random(using: &random) })
            let window = try HoursWindow("\(text(start))-\(text(end))", days: days)
            let time = QuietTime(.during(WorkCalendar(zone: zone, hours: [window])))
            var moment = Timestamp(seconds: Int64.random(in: 1_700_000_000..<2_000_000_000, using: &random) / 60 * 60)
            var last: (moment: Timestamp, end: Timestamp?)?
            for _ in 1...300 {
                let end = time.end(at: moment)
                // At the edges of a clock change the hours of the wall clock have parts; away from them both agree.
                let isPlain = zone.offset(at: moment - .seconds(86_400)) == zone.offset(at: moment + .seconds(86_400))
                if isPlain { #expect((end != nil) == window.contains(zone.local(moment)), "\(name) \(window) \(moment)") }
                if let end {
                    #expect(end > moment)
                    #expect(end - moment <= .days(8))
                    #expect(time.end(at: end) == nil || window.start == window.end % 1440)
                    #expect(time.end(at: end - .microseconds(1)) == end)
                }
                // A quiet time has one end, whichever of its moments asks.
                if let known = last?.end, moment < known { #expect(end == known) }
                last = (moment, end)
                moment = moment + .seconds(60 * Int64.random(in: 1...90, using: &random))
            }
        }
    }
}
