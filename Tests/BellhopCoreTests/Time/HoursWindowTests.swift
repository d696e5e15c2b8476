import BellhopCore
import Testing

struct `Hours of the day` {
    @Test func `hours that run past midnight belong to the day on which they begin`() throws {
        let hours = try HoursWindow("22:00-07:00", days: HoursWindow.days("MON-FRI"))
        // 2026-01-05 is a Monday.
        let inside: [CivilDateTime] = ["2026-01-05 22:00", "2026-01-06 06:59", "2026-01-09 23:00", "2026-01-10 06:59"]
        let outside: [CivilDateTime] = ["2026-01-05 06:59", "2026-01-05 21:59", "2026-01-06 07:00", "2026-01-10 22:00"]
        for local in inside { #expect(hours.contains(local), "\(local)") }
        for local in outside { #expect(!hours.contains(local), "\(local)") }
    }

    @Test func `hours within a day do not include their end`() throws {
        let hours = try HoursWindow("9:00-24:00")
        #expect(hours.contains("2026-01-05 09:00") && hours.contains("2026-01-05 23:59"))
        #expect(!hours.contains("2026-01-05 00:00") && !hours.contains("2026-01-05 08:59"))
        #expect(try hours == HoursWindow("9:00 - 24:00"))
    }

    @Test(arguments: [
        ("22:00", "hours have a beginning and an end: for example 22:00-07:00", 0),
        ("22-7", "'22' is not a time of day: write 00:00 to 23:59", 0),
        ("22:00-7", "'7' is not a time of day: write 00:00 to 24:00", 6),
        ("22:00 - 7am", "'7am' is not a time of day: write 00:00 to 24:00", 8),
        ("24:00-07:00", "'24:00' is not a time of day: write 00:00 to 23:59", 0),
        ("22:00-24:01", "'24:01' is not a time of day: write 00:00 to 24:00", 6),
        ("22:60-07:00", "'22:60' is not a time of day: write 00:00 to 23:59", 0),
        ("07:00-07:00", "the hours begin and end at the same time: 00:00-24:00 for the whole day", 0),
    ])
    func `invalid hours are refused with the mistake and its place`(_ text: String, _ message: String, _ offset: Int) {
        let error = #expect(throws: TimeTextError.self) { try HoursWindow(text) }
        #expect(error?.description == message)
        #expect(error?.offset == offset)
    }

    @Test func `hours in a list may have weekdays of their own`() throws {
        let list = try HoursWindow.list("MON-THU 08:00-17:00,  fri  08:00-14:00, 20:00-21:00", days: HoursWindow.days("SAT"))
        let expected = [("08:00-17:00", "MON-THU"), ("08:00-14:00", "FRI"), ("20:00-21:00", "SAT")]
        #expect(try list == expected.map { try HoursWindow($0, days: HoursWindow.days($1)) })
    }

    @Test(arguments: [
        ("MON-FOO 08:00-12:00", "'FOO' is not a valid weekday: 0-7 or SUN-SAT (0 and 7 are Sunday)", 4),
        ("08:00-12:00, FRI 8-12", "'8' is not a time of day: write 00:00 to 23:59", 17),
        ("MON#1 08:00-12:00", "'MON#1' is not a valid weekday: MON", 0),
        ("SAT,SUN 08:00-12:00", "hours have a beginning and an end: for example 22:00-07:00", 0),
    ])
    func `a mistake in a list of hours has its place`(_ text: String, _ message: String, _ offset: Int) {
        let error = #expect(throws: TimeTextError.self) { try HoursWindow.list(text) }
        #expect(error?.description == message)
        #expect(error?.offset == offset)
    }
}
