extension Value {
    /// A moment in time with nanoseconds, from year 1 to year 9999.
    public struct Timestamp: Sendable, Hashable, Comparable {
        /// Seconds since 1970-01-01T00:00:00Z.
        public let seconds: Int64
        /// 0..<1,000,000,000, counted forward from ``seconds``.
        public let nanoseconds: Int32

        /// Nil if the moment is outside the years 1 to 9999.
        public init?(seconds: Int64, nanoseconds: Int64 = 0) {
            let (carry, rest) = nanoseconds.flooredDivision(by: 1_000_000_000)
            let (total, overflow) = seconds.addingReportingOverflow(carry)
            guard !overflow, (Self.first...Self.last).contains(total) else { return nil }
            self.seconds = total
            self.nanoseconds = Int32(rest)
        }

        private static let first: Int64 = -62_135_596_800
        private static let last: Int64 = 253_402_300_799

        public static func < (a: Self, b: Self) -> Bool {
            a.seconds != b.seconds ? a.seconds < b.seconds : a.nanoseconds < b.nanoseconds
        }
    }
}

extension Value.Timestamp {
    /// The moment that much later, or nil if it is outside the years 1 to 9999.
    func advanced(by duration: Duration) -> Self? {
        guard let span = duration.nanosecondsExactly else { return nil }
        let (whole, rest) = span.flooredDivision(by: 1_000_000_000)
        return Self(seconds: seconds + whole, nanoseconds: Int64(nanoseconds) + rest)
    }

    /// The time since another moment, or nil if it does not fit a duration.
    func since(_ other: Self) -> Duration? {
        let (scaled, tooLarge) = (seconds - other.seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow) = scaled.addingReportingOverflow(Int64(nanoseconds) - Int64(other.nanoseconds))
        return tooLarge || overflow ? nil : .nanoseconds(sum)
    }
}

extension Int64 {
    /// Division that rounds down, with a remainder that is never negative.
    func flooredDivision(by divisor: Int64) -> (quotient: Int64, rest: Int64) {
        let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
    }
}

/// A calendar day and time of day, in the proleptic Gregorian calendar.
struct CivilTime: Equatable {
    var year: Int64 = 1970
    /// 1...12
    var month: Int64 = 1
    /// 1...31
    var day: Int64 = 1
    var hour: Int64 = 0
    var minute: Int64 = 0
    var second: Int64 = 0
}

extension CivilTime {
    /// The local time at a number of seconds since 1970 at an offset from UTC.
    init(seconds: Int64, offset: Int64 = 0) {
        let (days, rest) = (seconds + offset).flooredDivision(by: 86_400)
        // Days to a date by eras of 400 years, which begin on 1 March (the leap day comes last).
        let (era, dayOfEra) = (days + 719_468).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shifted + 2) / 5 + 1
        month = shifted < 10 ? shifted + 3 : shifted - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        hour = rest / 3600
        minute = rest / 60 % 60
        second = rest % 60
    }

    /// Days since 1970-01-01.
    var days: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = shiftedYear.flooredDivision(by: 400)
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Seconds since 1970-01-01T00:00:00 of the same clock.
    var seconds: Int64 { days * 86_400 + hour * 3600 + minute * 60 + second }

    /// 0 is Sunday.
    var weekday: Int64 { (days + 4).flooredDivision(by: 7).rest }

    /// 0 is 1 January.
    var dayOfYear: Int64 { days - CivilTime(year: year, month: 1, day: 1).days }

    static func daysInMonth(_ month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
