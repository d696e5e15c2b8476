/// A rule for all years, from a POSIX `TZ` string: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct PosixZone: Sendable, Hashable {
    var standard: LocalTimeType
    /// Daylight saving time with its beginning and end each year; nil without it.
    var daylight: Daylight?

    struct Daylight: Sendable, Hashable {
        var type: LocalTimeType
        /// When it begins, in standard time.
        var start: YearlyMoment
        /// When it ends, in daylight saving time.
        var end: YearlyMoment
    }

    /// A day of each year and a time on it.
    struct YearlyMoment: Sendable, Hashable {
        enum Day: Sendable, Hashable {
            /// `Jn`: 1 to 365, February 29 never counted.
            case julian(Int)
            /// `n`: 0 to 365, February 29 counted.
            case zeroBased(Int)
            /// `Mm.w.d`: the w-th weekday of a month, the last when w is 5.
            case weekday(month: Int, week: Int, weekday: Int)
        }

        var day: Day
        /// Seconds from that day's midnight; may be negative or more than a day (RFC 8536 §3.3.1).
        var seconds: Int

        /// The moment in a year, in seconds since the epoch by local time.
        func wall(in year: Int) -> Int64 {
            let days: Int
            switch day {
            case .julian(let number):
                let afterFebruary = number > 59 && CivilDate.isLeap(year)
                days = CivilDate(knownYear: year, month: 1, day: 1).daysSinceEpoch + number - (afterFebruary ? 0 : 1)
            case .zeroBased(let number): days = CivilDate(knownYear: year, month: 1, day: 1).daysSinceEpoch + number
            case .weekday(let month, let week, let weekday):
                let first = CivilDate(knownYear: year, month: month, day: 1)
                let firstDay = first.daysSinceEpoch
                let ahead = (weekday - Weekday(daysSinceEpoch: firstDay).rawValue + 7) % 7
                var day = ahead + (week - 1) * 7
                if day >= CivilDate.days(inMonth: month, of: year) { day -= 7 }
                days = firstDay + day
            }
            return Int64(days) * 86_400 + Int64(seconds)
        }
    }

    /// The period that contains a moment.
    func period(at seconds: Int64) -> TimeZoneTable.Period {
        guard let daylight else { return TimeZoneTable.Period(start: .min, end: .max, type: standard) }
        let year = CivilDateTime(secondsSinceEpoch: seconds + Int64(standard.offset)).year
        var period = TimeZoneTable.Period(start: .min, end: .max, type: standard)
        // A time of day may move a change into the previous or next year, so these are checked too.
        for year in (year - 1)...(year + 1) {
            let start = daylight.start.wall(in: year) - Int64(standard.offset)
            let end = daylight.end.wall(in: year) - Int64(daylight.type.offset)
            // If one ends as the other begins, as in a zone with daylight saving time all year, the beginning wins.
            period.note(end, brings: standard, around: seconds, winsTies: false)
            period.note(start, brings: daylight.type, around: seconds, winsTies: true)
        }
        return period
    }
}

extension TimeZoneTable.Period {
    fileprivate mutating func note(_ change: Int64, brings type: LocalTimeType, around seconds: Int64, winsTies: Bool) {
        if change > seconds {
            end = min(end, change)
        } else if change > start || (change == start && winsTies) {
            start = change
            self.type = type
        }
    }
}
