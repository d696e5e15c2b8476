import BellhopCore
import BellhopTesting
import Testing

@Suite struct `Work calendars` {
    /// Mondays to Fridays from 8 to 12 and from 13 to 17:30 in Berlin.
    private func office(_ holidays: Holidays = Holidays()) throws -> WorkCalendar {
        let days = try HoursWindow.days("MON-FRI")
        return WorkCalendar(
            zone: try zone("Europe/Berlin"),
            hours: [try HoursWindow("08:00-12:00", days: days), try HoursWindow("13:00-17:30", days: days)], holidays: holidays)
    }

    private func nights(_ holidays: Holidays = Holidays()) throws -> WorkCalendar {
        WorkCalendar(
            zone: try zone("Europe/Berlin"), hours: [try HoursWindow("22:00-06:00", days: HoursWindow.days("MON-FRI"))],
            holidays: holidays)
    }

    @Test(
        arguments: [
            ("2026-01-05T07:00Z", true), ("2026-01-05T06:59Z", false), ("2026-01-05T11:00Z", false), ("2026-01-05T12:00Z", true),
            ("2026-01-05T16:29Z", true), ("2026-01-05T16:30Z", false), ("2026-01-10T09:00Z", false),
        ] as [(Timestamp, Bool)])
    func `the hours do not include their end`(_ moment: Timestamp, _ isOpen: Bool) throws {
        #expect(try office().isOpen(at: moment) == isOpen)
    }

    @Test func `hours past midnight and their holidays belong to the day on which they begin`() throws {
        let monday = try #require(CivilDate(year: 2026, month: 1, day: 5))
        let nights = try nights(Holidays(days: [monday]))
        #expect(!nights.isOpen(at: "2026-01-05T22:00Z") && !nights.isOpen(at: "2026-01-06T03:00Z"))
        #expect(nights.isOpen(at: "2026-01-06T22:00Z") && nights.isOpen(at: "2026-01-10T04:59Z"))
        #expect(!nights.isOpen(at: "2026-01-10T05:00Z") && !nights.isOpen(at: "2026-01-10T22:00Z"))
    }

    @Test(
        arguments: [
            ("2026-01-05T07:00Z", 4 * 60, "2026-01-05T11:00Z"),  // 12:00, the earliest, not 13:00
            ("2026-01-05T07:00Z", 4 * 60 + 1, "2026-01-05T12:01Z"),
            ("2026-01-03T10:00Z", 60, "2026-01-05T08:00Z"),
            ("2026-01-03T10:00Z", 0, "2026-01-03T10:00Z"),
            ("2026-01-05T15:30Z", 2 * 60, "2026-01-06T08:00Z"),
            ("2026-01-09T16:00Z", 31, "2026-01-12T07:01Z"),
        ] as [(Timestamp, Int, Timestamp)])
    func `adding working time gives the earliest possible end`(_ start: Timestamp, _ minutes: Int, _ end: Timestamp) throws {
        #expect(try office().adding(.seconds(minutes * 60), to: start) == end)
    }

    @Test func `a negative working time, or one that takes more than ten years, cannot be added`() throws {
        #expect(try office().adding(.seconds(-1), to: "2026-01-05T07:00Z") == nil)
        #expect(try office().adding(.seconds(20 * 2200 * 3600), to: "2026-01-05T07:00Z") == nil)
    }

    @Test func `the working time to an earlier moment is negative`() throws {
        let office = try office()
        #expect(office.workingTime(from: "2026-01-05T07:00Z", to: "2026-01-06T07:00Z") == .seconds(8 * 3600 + 1800))
        #expect(office.workingTime(from: "2026-01-06T07:00Z", to: "2026-01-05T07:00Z") == .seconds(-8 * 3600 - 1800))
    }

    @Test(
        arguments: [
            ("2026-03-27T12:00Z", 7),  // the clock is put forward on Sunday the 29th, in the night that begins on Saturday
            ("2026-10-24T12:00Z", 9),
            ("2026-10-17T12:00Z", 8),
        ] as [(Timestamp, Int)])
    func `a night with a clock change counts the hours that elapse`(_ noon: Timestamp, _ hours: Int) throws {
        let nights = WorkCalendar(
            zone: try zone("Europe/Berlin"), hours: [try HoursWindow("22:00-06:00", days: HoursWindow.days("SAT"))])
        #expect(nights.workingTime(from: noon, to: noon + .seconds(48 * 3600)) == .seconds(hours * 3600))
    }

    @Test(arguments: ["06:00-14:15, 14:00-22:15, 22:00-06:15", "00:00-24:00, 02:00-03:00"])
    func `overlapping hours that never end count once`(_ hours: String) throws {
        let calendar = WorkCalendar(zone: try zone("Europe/Berlin"), hours: try HoursWindow.list(hours))
        let start: Timestamp = "2026-01-05T07:00Z"
        #expect(calendar.workingTime(from: start, to: start + .days(100)) == .days(100))
        #expect(calendar.adding(.days(100), to: start) == start + .days(100))
    }

    @Test func `holidays with times are no working time, also if they overlap`() throws {
        let holidays = Holidays(times: [
            "2026-01-05T08:00Z"..<"2026-01-05T09:00Z", "2026-01-05T08:30Z"..<"2026-01-05T10:00Z",
            "2026-01-05T16:00Z"..<"2026-01-06T08:00Z",
        ])
        let office = try office(holidays)
        #expect(
            office.workingTime(from: "2026-01-05T00:00Z", to: "2026-01-07T00:00Z") == .seconds((17 * 60 - 120 - 30 - 60) * 60))
        #expect(office.isOpen(at: "2026-01-05T07:59Z") && !office.isOpen(at: "2026-01-05T09:30Z"))
        #expect(office.isOpen(at: "2026-01-05T10:00Z"))
    }

    @Test func `a calendar that is never open has no opening`() throws {
        let first = try #require(CivilDate(year: 2026, month: 1, day: 1))
        let closed = Holidays(days: Set((0..<4000).map { first.adding(days: $0) }))
        #expect(try office(closed).opening(after: "2026-01-05T07:00Z") == nil)
        #expect(try office().opening(after: "2026-01-03T07:00Z") == "2026-01-05T07:00Z"..<"2026-01-05T11:00Z")
    }

    @Test func `random calendars agree with a minute-by-minute count`() throws {
        var random = SeededRandom(seed: 12)
        // In a zone without clock changes, a minute is open if one of the hours contains it and their first day is no holiday.
        let zone = try zone("Asia/Kolkata")
        let start: Timestamp = "2026-01-05T00:00Z"
        for _ in 0..<60 {
            var hours: [HoursWindow] = []
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let (from, to) = (Int.random(in: 0...23, using: &random), Int.random(in: 0...24, using: &random))
                guard from != to else { continue }
                let days = Set(Weekday.allCases.filter { _ in Bool.random(using: &random) })
                hours.append(try HoursWindow("\(from):30-\(to == 24 ? "24:00" : "\(to):15")", days: days))
            }
            let holiday = zone.local(start).date.adding(days: Int.random(in: 0...6, using: &random))
            let closure = start + .seconds(Int.random(in: 0...10_000, using: &random) * 60)
            let holidays = Holidays(days: [holiday], times: [closure..<closure + .seconds(5 * 3600)])
            let calendar = WorkCalendar(zone: zone, hours: hours, holidays: holidays)
            func isOpen(_ moment: Timestamp) -> Bool {
                let local = zone.local(moment)
                if holidays.times[0].contains(moment) { return false }
                return hours.contains { window in
                    guard window.contains(local) else { return false }
                    let isFromYesterday = window.start > window.end && local.secondOfDay / 60 < window.end
                    return (isFromYesterday ? local.date.adding(days: -1) : local.date) != holiday
                }
            }
            var minutes = 0
            let (from, to) = (Int.random(in: 0...5000, using: &random), Int.random(in: 5000...12_000, using: &random))
            for minute in from..<to {
                let moment = start + .seconds(minute * 60)
                let expected = isOpen(moment)
                #expect(calendar.isOpen(at: moment) == expected, "\(moment) \(hours)")
                if expected { minutes += 1 }
            }
            let begin = start + .seconds(from * 60)
            #expect(calendar.workingTime(from: begin, to: start + .seconds(to * 60)) == .seconds(minutes * 60))
            if minutes > 0 {
                let end = try #require(calendar.adding(.seconds(minutes * 60), to: begin))
                #expect(calendar.workingTime(from: begin, to: end) == .seconds(minutes * 60))
                #expect(isOpen(end - .seconds(60)))
            }
        }
    }
}
