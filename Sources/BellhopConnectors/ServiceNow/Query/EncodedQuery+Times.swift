import BellhopCore

/// Judges conditions on two times, or on a time and the calendar. They are compared in UTC, but the server uses the user's zone:
/// a verdict is certain only if every zone gives it.
extension EncodedQuery.Condition {
    /// The shortest and longest duration of so many units, including an hour of summer time.
    private static func span(_ unit: String, _ count: Int64) -> ClosedRange<Int64>? {
        let day: Int64 = 86_400
        let days: (Int64, Int64)
        switch unit {
        case "hour": return count * 3600...count * 3600
        case "day": days = (1, 1)
        case "week": days = (7, 7)
        case "month": days = (28, 31)
        case "quarter": days = (89, 92)
        case "year": days = (365, 366)
        default: return nil
        }
        let (shortest, longest) = (count * days.0 * day - 3600, count * days.1 * day + 3600)
        return shortest...longest
    }

    /// `MORETHANopened_at@day@after@3` and similar.
    func judgeDistance(_ subject: FieldValue, _ values: (String) -> FieldValue?) -> Verdict {
        let parts = value.split(separator: "@", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let count = Int64(parts[3]), (0...100_000).contains(count),
            let span = Self.span(parts[1], count), let apart = seconds(from: parts[0], to: subject, values)
        else { return .unknown }
        let distance: Int64
        switch parts[2] {
        case "after": distance = apart
        case "before": distance = -apart
        case "before or after": distance = abs(apart)
        default: return .unknown
        }
        if how == .moreThan { return distance > span.upperBound ? .matches : distance < span.lowerBound ? .fails : .unknown }
        // Only the server knows whether "less than three days after" includes earlier times.
        return distance > span.upperBound ? .fails : distance >= 0 && distance < span.lowerBound ? .matches : .unknown
    }

    /// `SAMEASdue_date@day`: equal times share a day; times more than a day apart do not.
    func sameSpan(_ subject: FieldValue, _ values: (String) -> FieldValue?) -> Verdict {
        let parts = value.split(separator: "@", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let span = Self.span(parts[1], 1), let apart = seconds(from: parts[0], to: subject, values)
        else { return .unknown }
        return apart == 0 ? .matches : abs(apart) > span.upperBound ? .fails : .unknown
    }

    private func seconds(from other: String, to subject: FieldValue, _ values: (String) -> FieldValue?) -> Int64? {
        guard let from = values(other).flatMap({ Timestamp(sql: $0.raw) }), let to = Timestamp(sql: subject.raw)
        else { return nil }
        return (to.microseconds - from.microseconds) / 1_000_000
    }

    /// `DATEPARTMonday@javascript:gs.datePart('dayofweek','monday','EE')`: judged by the days it may be anywhere on Earth.
    func judgePart(_ subject: FieldValue) -> Verdict {
        guard let call = value.firstMatch(of: /@javascript:gs\.datePart\('(\w+)', ?'(\w+)', ?'(\w+)'\)$/),
            let time = Timestamp(sql: subject.raw)
        else { return .unknown }
        let wanted = String(call.2)
        let days = [-12, 0, 14].map { (time + .seconds($0 * 3600)).utc.date }
        func verdict(_ number: (CivilDate) -> Int, _ wanted: Int?) -> Verdict {
            guard let wanted else { return .unknown }
            let verdicts = Set(days.map { Self.holds(String(call.3), number($0), wanted) })
            return verdicts.count == 1 ? verdicts.first.flatMap { $0.map { Verdict($0) } } ?? .unknown : .unknown
        }
        switch call.1 {
        case "year": return verdict(\.year, Int(wanted))
        case "quarter": return verdict({ ($0.month + 2) / 3 }, Int(wanted))
        case "month": return verdict(\.month, DatePart.months.firstIndex { $0.hasPrefix(wanted) }.map { $0 + 1 })
        // Only the server knows on which day a week begins.
        case "dayofweek" where call.3 == "EE":
            let names = days.map { DatePart.weekdays[Self.place(of: $0)] }
            return names.contains(wanted) ? .unknown : .fails
        default: return .unknown
        }
    }

    /// Days since a Monday.
    private static func place(of date: CivilDate) -> Int {
        let days = (date.daysSinceEpoch + 3) % 7
        return days < 0 ? days + 7 : days
    }

    private static func holds(_ code: String, _ number: Int, _ wanted: Int) -> Bool? {
        switch code {
        case "EE": number == wanted
        case "GT": number > wanted
        case "GE": number >= wanted
        case "LT": number < wanted
        case "LE": number <= wanted
        default: nil
        }
    }
}
