/// A recurring time in cron's five fields, such as `30 8 * * MON-FRI`.
///
/// Fields are minute (0-59), hour (0-23), day of the month (1-31), month (1-12 or JAN-DEC) and weekday (0-7 or SUN-SAT, Sunday
/// being 0 and 7), each a `*`, a number, a name, a range, a list of these, or with a step: `*/5`, `8-18/2`. As a day, `L` is the last
/// of the month; as a weekday, `FRI#2` is its second Friday, and `FRIL` its last Friday. `@hourly`, `@daily`, `@midnight`, `@weekly`,
/// `@monthly`, `@yearly` and `@annually` mean the usual five.
///
/// If neither day field contains a `*`, a day need match only one of them, as in every cron since Vixie's: `0 0 13 * FRI` is each
/// 13th and each Friday. Otherwise it must match both.
///
/// When clocks change, a schedule with every hour runs by elapsed time: `*/5 * * * *` runs every five minutes, also throughout a
/// repeated hour, and makes up for nothing after a skipped hour. Any other schedule runs by local time: what is due in a skipped
/// hour runs once, at the first moment after it; what is due in a repeated hour runs the first time.
public struct CronSchedule: Sendable, Hashable, CustomStringConvertible {
    /// The schedule as written.
    public let text: String
    /// Minutes as bits, bit 0 for minute 0.
    let minutes: UInt64
    /// Hours as bits.
    let hours: UInt64
    /// Days of the month as bits, bit 1 for the first; ``CronField/lastDay`` for the last.
    let days: UInt64
    /// Months as bits, bit 1 for January.
    let months: UInt64
    /// Weekdays as bits, bit 0 for Sunday; those of ``CronField/bit(of:number:)`` for days that are counted in their month.
    let weekdays: UInt64
    /// Whether a day need match only one of its two fields.
    let eitherDay: Bool

    public var description: String { text }

    /// The parts of a schedule whose days match the day of the month or the weekday: both fields as written, the schedule without the
    /// weekday, and the weekdays (0 is Sunday). Nil for other schedules, and if a weekday is counted in its month.
    public var eitherDayParts: (day: String, weekday: String, withoutWeekday: String, weekdays: [Int])? {
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        guard eitherDay, weekdays <= Self.everyWeekday, words.count == 5 else { return nil }
        let numbers = (0..<7).filter(weekdays.contains)
        return (words[2], words[4], (words.prefix(4) + ["*"]).joined(separator: " "), numbers)
    }

    /// The first moment after a given one at which the schedule is due in a zone; nil if none before the calendar ends.
    public func next(after moment: Timestamp, in zone: TimeZoneTable) -> Timestamp? {
        hours == Self.everyHour ? nextElapsed(after: moment, in: zone) : nextOnWall(after: moment, in: zone)
    }

    private static let everyHour: UInt64 = (1 << 24) - 1
    private static let everyWeekday: UInt64 = (1 << 7) - 1
    /// The last year of schedules, safely before the last moment.
    private static let lastYear = 290_000
}

extension CronSchedule {
    /// Parses a schedule; an error has a place and a suggestion.
    ///
    /// A schedule that is never due, such as February 31, is rejected.
    public init(_ text: some StringProtocol) throws(TimeTextError) {
        self = try CronParser(text: String(text)).schedule(written: String(text))
    }

    /// By local time: each time that occurs counts once, and a skipped one counts when the clock was put forward.
    ///
    /// The moments at which increasing local times count never decrease, so the first later one is the answer.
    private func nextOnWall(after moment: Timestamp, in zone: TimeZoneTable) -> Timestamp? {
        var wall = zone.local(moment)
        while let next = nextWall(after: wall) {
            let due = zone.resolve(next).earliest
            if due > moment { return due }
            wall = next
        }
        return nil
    }

    /// By elapsed time: each moment at which the local time matches counts.
    private func nextElapsed(after moment: Timestamp, in zone: TimeZoneTable) -> Timestamp? {
        var period = zone.period(at: moment.seconds)
        var wall = CivilDateTime(secondsSinceEpoch: moment.seconds + Int64(period.type.offset))
        while let next = nextWall(after: wall) {
            let due = next.secondsSinceEpoch - Int64(period.type.offset)
            if due < period.end { return Timestamp(seconds: due) }
            // The clock changes before: continue from the second before its new time, which may itself match.
            period = zone.period(at: period.end)
            wall = CivilDateTime(secondsSinceEpoch: period.start + Int64(period.type.offset) - 1)
        }
        return nil
    }

    /// The first matching local time, in whole minutes, after the minute of a given one.
    func nextWall(after wall: CivilDateTime) -> CivilDateTime? {
        let date = wall.date
        guard date.year < Self.lastYear else { return nil }
        if matches(date) {
            if hours.contains(wall.hour), let minute = minutes.first(after: wall.minute) {
                return CivilDateTime(date: date, secondOfDay: wall.hour * 3600 + minute * 60)
            }
            if let hour = hours.first(after: wall.hour) {
                return CivilDateTime(date: date, secondOfDay: hour * 3600 + minutes.trailingZeroBitCount * 60)
            }
        }
        guard let next = nextDate(after: date) else { return nil }
        return CivilDateTime(date: next, secondOfDay: hours.trailingZeroBitCount * 3600 + minutes.trailingZeroBitCount * 60)
    }

    private func matches(_ date: CivilDate) -> Bool {
        months.contains(date.month) && matchingDays(year: date.year, month: date.month).contains(date.day)
    }

    /// The first matching day after a given one. The calendar repeats after 400 years, so none within them means never.
    private func nextDate(after date: CivilDate) -> CivilDate? {
        var year = date.year
        var month = date.month
        var day = date.day
        let lastYear = min(year + 400, Self.lastYear)
        while year <= lastYear {
            if months.contains(month), let found = matchingDays(year: year, month: month).first(after: day) {
                return CivilDate(knownYear: year, month: month, day: found)
            }
            day = 0
            if let later = months.first(after: month) {
                month = later
            } else {
                month = months.trailingZeroBitCount
                year += 1
            }
        }
        return nil
    }

    /// The matching days of a month as bits, bit 1 for the first.
    private func matchingDays(year: Int, month: Int) -> UInt64 {
        let length = CivilDate.days(inMonth: month, of: year)
        let all: UInt64 = (1 << (length + 1)) - 2
        let last: UInt64 = days.contains(CronField.lastDay) ? 1 << UInt64(length) : 0
        let byDay = (days | last) & all
        if weekdays == Self.everyWeekday, !eitherDay { return byDay }
        // The seven bits rotated so that bit 0 is the weekday of the first, then repeated over the month.
        let first = CivilDate(knownYear: year, month: month, day: 1).weekday.rawValue
        let plain = weekdays & Self.everyWeekday
        let turned = (plain >> first | plain << (7 - first)) & Self.everyWeekday
        var byWeekday = (turned | turned << 7 | turned << 14 | turned << 21 | turned << 28) << 1
        if weekdays > Self.everyWeekday {
            for day in 1...length {
                let weekday = (first + day - 1) % 7
                let isLast = day + 7 > length && weekdays.contains(CronField.bit(of: weekday, number: CronField.lastNumber))
                if isLast || weekdays.contains(CronField.bit(of: weekday, number: (day + 6) / 7)) { byWeekday |= 1 << day }
            }
        }
        return (eitherDay ? byDay | byWeekday : byDay & byWeekday) & all
    }
}

extension UInt64 {
    func contains(_ bit: Int) -> Bool { self >> UInt64(truncatingIfNeeded: bit) & 1 == 1 }

    /// The lowest set bit above a position from 0 to 62.
    func first(after bit: Int) -> Int? {
        let above = self & (Self.max << UInt64(truncatingIfNeeded: bit + 1))
        return above == 0 ? nil : above.trailingZeroBitCount
    }
}
