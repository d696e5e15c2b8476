/// The days on which a calendar entry is repeated: `RRULE` (RFC 5545, section 3.3.10), as far as holidays need it.
///
/// Rules with other parts are refused.
struct Recurrence: Sendable, Hashable {
    struct Problem: Error {
        /// What is wrong, without a full stop.
        var message: String

        init(_ message: String) { self.message = message }
    }

    private enum Frequency: String { case daily = "DAILY", weekly = "WEEKLY", monthly = "MONTHLY", yearly = "YEARLY" }

    /// A day of the week; with an ordinal only the n-th of a month or year, counted from its end if negative.
    private struct Day: Sendable, Hashable {
        var ordinal: Int?
        var weekday: Weekday
    }

    private var frequency = Frequency.yearly
    private var interval = 1
    private var count: Int?
    private var until: CivilDate?
    private var months: Set<Int> = []
    private var monthDays: Set<Int> = []
    private var days: [Day] = []
    /// `BYSETPOS`: which of the matching days of a period count, from 1, or from -1 backwards; empty for all.
    private var positions: Set<Int> = []
    private var weekStart = Weekday.monday

    /// - Parameter start: the first occurrence. Its time and zone give the last day of an end (`UNTIL`) with a time.
    init(_ text: String, from start: ICalendarTime) throws(Problem) {
        var hasFrequency = false
        for part in text.split(separator: ";") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard pair.count == 2 else { throw Problem("'\(part)' is not a part of a rule") }
            let (name, value) = (pair[0].uppercased(), pair[1].uppercased())
            switch name {
            case "FREQ":
                guard let known = Frequency(rawValue: value) else { throw Problem("FREQ=\(value) is not supported") }
                frequency = known
                hasFrequency = true
            case "INTERVAL": interval = try Self.number(value, of: name, in: 1...10_000)
            case "COUNT": count = try Self.number(value, of: name, in: 1...100_000)
            case "UNTIL":
                guard let end = ICalendarTime(value, zone: start.zone) else { throw Self.wrong(value, of: name) }
                let day = end.date(inEntryFrom: start)
                let endsBefore = !end.isWholeDay && !start.isWholeDay && start.moment(on: day) > end.moment(on: end.date)
                until = endsBefore ? day.adding(days: -1) : day
            case "BYMONTH": months = Set(try Self.numbers(value, of: name, in: 1...12))
            case "BYMONTHDAY": monthDays = Set(try Self.numbers(value, of: name, in: -31...31))
            case "BYDAY": for item in value.split(separator: ",") { days.append(try Self.day(String(item))) }
            case "BYSETPOS": positions = Set(try Self.numbers(value, of: name, in: -366...366))
            case "WKST": weekStart = try Self.day(value).weekday
            default: throw Problem("\(name) in a rule is not supported")
            }
        }
        guard hasFrequency else { throw Problem("the rule has no FREQ") }
        if frequency == .weekly, !monthDays.isEmpty { throw Problem("BYMONTHDAY in a weekly rule is not supported") }
        if frequency == .weekly || frequency == .daily, days.contains(where: { $0.ordinal != nil }) {
            throw Problem("BYDAY with a number is not supported in such a rule")
        }
    }

    /// The days on which an occurrence begins: `first`, and all later ones until `last`.
    /// - Parameter work: how many more days may be examined; each examined day reduces it by one.
    func dates(from first: CivilDate, until last: CivilDate, work: inout Int) throws(Problem) -> [CivilDate] {
        let end = min(until ?? last, last)
        var dates = [first]
        var date = period(of: first)
        while date <= end, dates.count < count ?? .max {
            let period = period(of: date)
            var matching: [CivilDate] = []
            repeat {
                work -= 1
                if work < 0 { throw Problem("the entries repeat over too many days: give them a later first day") }
                if matches(date, first) { matching.append(date) }
                date = next(date, of: first)
            } while self.period(of: date) == period
            dates += selected(matching).filter { $0 > first && $0 <= end }
        }
        return Array(dates.prefix(count ?? .max))
    }

    /// The first day of the day, week, month or year in which a day lies: the periods of the frequency.
    private func period(of date: CivilDate) -> CivilDate {
        switch frequency {
        case .daily: date
        case .weekly: date.adding(days: -((date.weekday.rawValue - weekStart.rawValue + 7) % 7))
        case .monthly: date.adding(days: 1 - date.day)
        case .yearly: CivilDate(knownYear: date.year, month: 1, day: 1)
        }
    }

    /// Those of the matching days of a period that count.
    private func selected(_ dates: [CivilDate]) -> [CivilDate] {
        if positions.isEmpty { return dates }
        return dates.indices.filter { positions.contains($0 + 1) || positions.contains($0 - dates.count) }.map { dates[$0] }
    }

    /// The next day that may match. Skips whole months and years without a match.
    private func next(_ date: CivilDate, of first: CivilDate) -> CivilDate {
        let next = date.adding(days: 1)
        guard next.day == 1, frequency == .yearly || frequency == .monthly else { return next }
        if frequency == .yearly, case let away = (next.year - first.year) % interval, away != 0 {
            return CivilDate(year: next.year + interval - away, month: 1, day: 1) ?? next
        }
        var months = months
        if frequency == .yearly, months.isEmpty, monthDays.isEmpty, days.isEmpty { months = [first.month] }
        if months.isEmpty || months.contains(next.month) { return next }
        let month = months.filter { $0 > next.month }.min()
        return CivilDate(year: next.year + (month == nil ? 1 : 0), month: month ?? 1, day: 1) ?? next
    }

    private func matches(_ date: CivilDate, _ first: CivilDate) -> Bool {
        guard months.isEmpty || months.contains(date.month) else { return false }
        switch frequency {
        case .daily:
            guard (date.daysSinceEpoch - first.daysSinceEpoch) % interval == 0 else { return false }
            return (monthDays.isEmpty || isMonthDay(date)) && (days.isEmpty || isDay(date, inYear: false))
        case .weekly:
            let distance = period(of: date).daysSinceEpoch - period(of: first).daysSinceEpoch
            guard distance / 7 % interval == 0 else { return false }
            return days.isEmpty ? date.weekday == first.weekday : isDay(date, inYear: false)
        case .monthly:
            guard ((date.year - first.year) * 12 + date.month - first.month) % interval == 0 else { return false }
            if monthDays.isEmpty, days.isEmpty { return date.day == first.day }
            return (monthDays.isEmpty || isMonthDay(date)) && (days.isEmpty || isDay(date, inYear: false))
        case .yearly:
            guard (date.year - first.year) % interval == 0 else { return false }
            if monthDays.isEmpty, days.isEmpty {
                return date.day == first.day && (!months.isEmpty || date.month == first.month)
            }
            return (monthDays.isEmpty || isMonthDay(date)) && (days.isEmpty || isDay(date, inYear: months.isEmpty))
        }
    }

    private func isMonthDay(_ date: CivilDate) -> Bool {
        monthDays.contains(date.day) || monthDays.contains(date.day - CivilDate.days(inMonth: date.month, of: date.year) - 1)
    }

    private func isDay(_ date: CivilDate, inYear: Bool) -> Bool {
        let start = CivilDate(knownYear: date.year, month: inYear ? 1 : date.month, day: 1).daysSinceEpoch
        let length =
            inYear ? (CivilDate.isLeap(date.year) ? 366 : 365) : CivilDate.days(inMonth: date.month, of: date.year)
        let index = date.daysSinceEpoch - start
        return days.contains { day in
            guard day.weekday == date.weekday else { return false }
            guard let ordinal = day.ordinal else { return true }
            return ordinal > 0 ? index / 7 + 1 == ordinal : (length - 1 - index) / 7 + 1 == -ordinal
        }
    }

    private static func day(_ text: String) throws(Problem) -> Day {
        let names = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"]
        guard let index = names.firstIndex(of: String(text.suffix(2))), let weekday = Weekday(rawValue: index) else {
            throw wrong(text, of: "BYDAY")
        }
        let ordinal = text.dropLast(2)
        if ordinal.isEmpty { return Day(ordinal: nil, weekday: weekday) }
        return Day(ordinal: try number(String(ordinal), of: "BYDAY", in: -53...53), weekday: weekday)
    }

    private static func numbers(_ text: String, of name: String, in range: ClosedRange<Int>) throws(Problem) -> [Int] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { item throws(Problem) in
            try number(String(item), of: name, in: range)
        }
    }

    private static func number(_ text: String, of name: String, in range: ClosedRange<Int>) throws(Problem) -> Int {
        guard let number = Int(text), number != 0, range.contains(number) else { throw wrong(text, of: name) }
        return number
    }

    private static func wrong(_ value: String, of name: String) -> Problem { Problem("\(name)=\(value) is not valid") }
}
