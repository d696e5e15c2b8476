import BellhopCore
import Testing

struct `Civil dates` {
    @Test func `each of 800 years' days follows the day before by the rules of the calendar`() throws {
        var date = try #require(CivilDate(year: 1599, month: 12, day: 31))
        var weekday = date.weekday
        for days in (date.daysSinceEpoch + 1)...(date.daysSinceEpoch + 292_194) {
            let next = CivilDate(daysSinceEpoch: days)
            let expected =
                date.day < CivilDate.days(inMonth: date.month, of: date.year)
                ? CivilDate(year: date.year, month: date.month, day: date.day + 1)
                : date.month < 12
                    ? CivilDate(year: date.year, month: date.month + 1, day: 1) : CivilDate(year: date.year + 1, month: 1, day: 1)
            guard next == expected, next.daysSinceEpoch == days, next.weekday.previous == weekday, date < next else {
                Issue.record("after \(date) came \(next)")
                return
            }
            date = next
            weekday = next.weekday
        }
        #expect(date.year == 2399)
    }

    @Test func `known days have their weekdays and numbers`() throws {
        #expect(CivilDate(year: 1970, month: 1, day: 1)?.daysSinceEpoch == 0)
        #expect(CivilDate(year: 2000, month: 3, day: 1)?.daysSinceEpoch == 11_017)
        #expect(CivilDate(year: 2026, month: 1, day: 5)?.weekday == .monday)
        #expect(CivilDate(year: 1969, month: 7, day: 20)?.weekday == .sunday)
        #expect(CivilDate(year: -4, month: 2, day: 29)?.adding(days: 1).description == "-0004-03-01")
    }

    @Test func `dates that do not exist are refused`() {
        #expect(CivilDate(year: 2100, month: 2, day: 29) == nil)
        #expect(CivilDate(year: 2026, month: 4, day: 31) == nil)
        #expect(CivilDate(year: .max, month: 1, day: 1) == nil)
        #expect(CivilDateTime(year: 2026, month: 1, day: 1, hour: 24) == nil)
        #expect(CivilDate(daysSinceEpoch: .max).year == 300_000)
        #expect(CivilDate(daysSinceEpoch: .min).adding(days: .min).year == -300_000)
    }
}
