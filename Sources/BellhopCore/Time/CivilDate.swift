/// A day of the proleptic Gregorian calendar; year 0 is 1 BC.
public struct CivilDate: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The year, between -300,000 and 300,000.
    public let year: Int
    /// The month, 1 to 12.
    public let month: Int
    /// The day of the month, from 1.
    public let day: Int

    /// The day with these numbers; nil if it does not exist.
    public init?(year: Int, month: Int, day: Int) {
        guard Self.years.contains(year), 1...12 ~= month, day >= 1, day <= Self.days(inMonth: month, of: year) else { return nil }
        self.init(knownYear: year, month: month, day: day)
    }

    init(knownYear year: Int, month: Int, day: Int) { (self.year, self.month, self.day) = (year, month, day) }

    /// The day of a text such as `2026-01-05`; nil if it is not one.
    public init?(_ text: String) {
        let bytes = text.utf8Span.span
        guard bytes.count == 10, let date = TimeReader.date(bytes, at: 0) else { return nil }
        self = date
    }

    /// The day this many days after 1970-01-01, clamped to the supported years.
    public init(daysSinceEpoch days: Int) {
        // Counted from 0000-03-01, so that the leap day is the last of its year. 400 years have 146,097 days.
        let shifted = min(max(days, Self.firstDay), Self.lastDay) + 719_468
        let (era, dayOfEra) = shifted.flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = era * 400 + yearOfEra + (marchMonth < 10 ? 0 : 1)
    }

    /// Days since 1970-01-01; negative before.
    public var daysSinceEpoch: Int {
        let marchYear = month > 2 ? year : year - 1
        let (era, yearOfEra) = marchYear.flooredDivision(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    public var weekday: Weekday { Weekday(daysSinceEpoch: daysSinceEpoch) }

    /// The day this many days later.
    public func adding(days: Int) -> CivilDate {
        let (sum, overflow) = daysSinceEpoch.addingReportingOverflow(days)
        return CivilDate(daysSinceEpoch: overflow ? (days < 0 ? .min : .max) : sum)
    }

    public static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    /// How many days a month (1 to 12) has in a year.
    public static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    public static func < (left: CivilDate, right: CivilDate) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }

    static let years = -300_000...300_000
    private static let firstDay = CivilDate(knownYear: years.lowerBound, month: 1, day: 1).daysSinceEpoch
    private static let lastDay = CivilDate(knownYear: years.upperBound, month: 12, day: 31).daysSinceEpoch

    /// The date as `2026-01-05`.
    public var description: String { CivilDateTime(date: self).description.prefix { $0 != "T" }.description }
}

/// A day of the week, numbered as in cron: Sunday is 0.
public enum Weekday: Int, Sendable, Hashable, CaseIterable {
    case sunday, monday, tuesday, wednesday, thursday, friday, saturday

    init(daysSinceEpoch days: Int) {
        // 1970-01-01 was a Thursday.
        self = Self.inOrder[(days % 7 + 11) % 7]
    }

    /// The English name's first three letters, `Sun` to `Sat`.
    public var abbreviation: String { Self.abbreviations[rawValue] }

    private static let abbreviations = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    /// The day before.
    public var previous: Weekday { Self.inOrder[(rawValue + 6) % 7] }

    private static let inOrder = Weekday.allCases
}
