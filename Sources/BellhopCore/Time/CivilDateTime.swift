/// A date and a time of day without a time zone.
public struct CivilDateTime: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let date: CivilDate
    /// Seconds since the date's midnight, 0 to 86,399.
    public let secondOfDay: Int

    /// The date and time with these numbers; nil if it does not exist. There is no second 60.
    public init?(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
        guard let date = CivilDate(year: year, month: month, day: day), 0..<24 ~= hour, 0..<60 ~= minute, 0..<60 ~= second
        else { return nil }
        self.init(date: date, secondOfDay: hour * 3600 + minute * 60 + second)
    }

    /// A time on a date, clamped to that day; by default midnight.
    public init(date: CivilDate, secondOfDay: Int = 0) {
        self.date = date
        self.secondOfDay = min(max(secondOfDay, 0), 86_399)
    }

    /// The date and time this many seconds after 1970-01-01 00:00:00.
    public init(secondsSinceEpoch seconds: Int64) {
        let (days, rest) = seconds.flooredDivision(by: 86_400)
        date = CivilDate(daysSinceEpoch: Int(days))
        secondOfDay = Int(rest)
    }

    /// Seconds since 1970-01-01 00:00:00, ignoring clock changes.
    public var secondsSinceEpoch: Int64 { Int64(date.daysSinceEpoch) * 86_400 + Int64(secondOfDay) }

    public var year: Int { date.year }
    /// 1 to 12.
    public var month: Int { date.month }
    /// The day of the month, from 1.
    public var day: Int { date.day }
    public var weekday: Weekday { date.weekday }
    /// 0 to 23.
    public var hour: Int { secondOfDay / 3600 }
    /// 0 to 59.
    public var minute: Int { secondOfDay / 60 % 60 }
    /// 0 to 59.
    public var second: Int { secondOfDay % 60 }

    public static func < (left: CivilDateTime, right: CivilDateTime) -> Bool {
        (left.date, left.secondOfDay) < (right.date, right.secondOfDay)
    }

    /// The date and time as `2026-01-05T09:00:00`.
    public var description: String {
        var text = TimeWriter()
        text.dateTime(self)
        return text.string
    }
}

extension Timestamp {
    /// The moment at which a clock in UTC shows this date and time.
    public init(utc civil: CivilDateTime) { self.init(seconds: civil.secondsSinceEpoch) }

    /// The moment with these numbers in UTC; nil if it does not exist.
    public init?(utc year: Int, _ month: Int, _ day: Int, _ hour: Int = 0, _ minute: Int = 0, _ second: Int = 0) {
        guard let civil = CivilDateTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second) else {
            return nil
        }
        self.init(utc: civil)
    }

    /// What a clock in UTC shows at this moment.
    public var utc: CivilDateTime { CivilDateTime(secondsSinceEpoch: seconds) }
}
