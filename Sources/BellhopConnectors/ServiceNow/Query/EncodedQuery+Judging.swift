import BellhopCore

extension EncodedQuery {
    /// Whether a row of the Table API matches this query, as far as its fields show.
    ///
    /// The result is `fails` only if the server cannot have matched the row. It is `unknown` for a field missing from the row, a
    /// script, a keyword, a relative date and a hierarchy. The row must have raw values (`sysparm_display_value` false or all).
    func judge(_ row: JSON) -> Truth { judge { FieldValue(row[$0]) } }

    /// - Parameter value: a field's value by its path; nil if unknown.
    func judge(_ value: (String) -> FieldValue?) -> Truth {
        if groups.isEmpty { return .matches }
        return Truth.any(groups) { group in
            Truth.all(group.terms) { term in
                Truth.any(term.alternatives) { alternative in
                    switch alternative {
                    case .condition(let condition): condition.judge(value)
                    case .keywords, .verbatim: .unknown
                    }
                }
            }
        }
    }
}

extension EncodedQuery.Condition {
    func judge(_ values: (String) -> FieldValue?) -> Truth {
        if how == .anything { return .matches }
        guard let field = values(field) else { return .unknown }
        let subject = ComparedValue(field, of: self.field)
        switch how {
        case .anything: return .matches
        case .isEmpty: return Truth(subject.isEmpty)
        case .isNotEmpty: return subject.isEmpty && subject.isJournal ? .unknown : Truth(!subject.isEmpty)
        case .emptyString: return subject.isEmpty ? .unknown : .fails
        case .equal: return subject.equals(value)
        case .notEqual: return subject.isEmpty ? .unknown : subject.equals(value).negated
        case .isOneOf: return isOneOf(subject)
        case .isNotOneOf: return subject.isEmpty ? .unknown : isOneOf(subject).negated
        case .contains: return subject.contains(value, at: .anywhere)
        case .containsNot, .containsNotShort: return subject.contains(value, at: .anywhere).negated
        case .startsWith: return subject.contains(value, at: .start)
        case .endsWith, .endsWithShort: return subject.contains(value, at: .end)
        case .less: return subject.compare(value) { $0 < $1 }
        case .atMost: return subject.compare(value) { $0 <= $1 }
        case .greater: return subject.compare(value) { $0 > $1 }
        case .atLeast: return subject.compare(value) { $0 >= $1 }
        case .between: return isBetween(subject)
        case .sameAs: return same(subject, field, values)
        case .notSameAs: return same(subject, field, values).negated
        case .moreThan, .lessThan: return judgeDistance(field, values)
        case .datePart: return judgePart(field)
        case .greaterThanField: return compare(subject, values) { $0 > $1 }
        case .lessThanField: return compare(subject, values) { $0 < $1 }
        case .atLeastField: return compare(subject, values) { $0 >= $1 }
        case .atMostField: return compare(subject, values) { $0 <= $1 }
        case .dynamic, .inHierarchy, .instanceOf, .changes, .changesFrom, .changesTo, .on, .notOn, .relativeAfter,
            .relativeBefore, .relativeAtOrAfter, .relativeAtOrBefore, .relativeOn:
            return .unknown
        }
    }

    private func isOneOf(_ subject: ComparedValue) -> Truth {
        if ComparedValue.isComputed(value) { return .unknown }
        return Truth.any(value.split(separator: ",")) { subject.equals(String($0)) }
    }

    private func isBetween(_ subject: ComparedValue) -> Truth {
        let parts = value.split(separator: "@", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else { return .unknown }
        let above = subject.compare(parts[0]) { $0 >= $1 }
        let below = subject.compare(parts[1]) { $0 <= $1 }
        return Truth.all([above, below]) { $0 }
    }

    /// The value of the other field; nil if it is unknown, or if one of the two fields is empty.
    private func other(_ subject: ComparedValue, _ values: (String) -> FieldValue?) -> String? {
        guard !subject.isEmpty, let raw = values(value)?.raw, !raw.isEmpty else { return nil }
        return raw
    }

    /// `SAMEASopened_by`, or with a unit: `SAMEASdue_date@day`.
    private func same(_ subject: ComparedValue, _ field: FieldValue, _ values: (String) -> FieldValue?) -> Truth {
        if value.utf8.contains(UInt8(ascii: "@")) { return sameSpan(field, values) }
        return other(subject, values).map(subject.equals) ?? .unknown
    }

    private func compare(_ subject: ComparedValue, _ values: (String) -> FieldValue?, _ holds: (Int, Int) -> Bool) -> Truth {
        other(subject, values).map { subject.compare($0, holds) } ?? .unknown
    }
}

/// Conditions on two times, or on a time and the calendar. The server uses the user's time zone, which is unknown here, so a result
/// is certain only if it is the same in every zone.
extension EncodedQuery.Condition {
    /// The shortest and longest duration of this many units. Daylight saving time can add or remove an hour.
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
    func judgeDistance(_ subject: FieldValue, _ values: (String) -> FieldValue?) -> Truth {
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
    func sameSpan(_ subject: FieldValue, _ values: (String) -> FieldValue?) -> Truth {
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

    /// `DATEPARTMonday@javascript:gs.datePart('dayofweek','monday','EE')`, tested with each day that the time may be in a time zone.
    func judgePart(_ subject: FieldValue) -> Truth {
        guard let call = value.firstMatch(of: /@javascript:gs\.datePart\('(\w+)', ?'(\w+)', ?'(\w+)'\)$/),
            let time = Timestamp(sql: subject.raw)
        else { return .unknown }
        let wanted = String(call.2)
        let days = [-12, 0, 14].map { (time + .seconds($0 * 3600)).utc.date }
        func verdict(_ number: (CivilDate) -> Int, _ wanted: Int?) -> Truth {
            guard let wanted else { return .unknown }
            let truths = Set(days.map { Self.holds(String(call.3), number($0), wanted) })
            return truths.count == 1 ? truths.first.flatMap { $0.map { Truth($0) } } ?? .unknown : .unknown
        }
        switch call.1 {
        case "year": return verdict(\.year, Int(wanted))
        case "quarter": return verdict({ ($0.month + 2) / 3 }, Int(wanted))
        case "month": return verdict(\.month, DatePart.months.firstIndex { $0.hasPrefix(wanted) }.map { $0 + 1 })
        // Only the server knows on which day a week begins.
        case "dayofweek" where call.3 == "EE": return days.contains { "\($0.weekday)" == wanted } ? .unknown : .fails
        default: return .unknown
        }
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

/// The result of a condition, in three-valued logic, because some conditions can be evaluated only by the server.
enum Truth: Sendable, Hashable {
    case matches, fails, unknown

    init(_ holds: Bool) { self = holds ? .matches : .fails }

    var negated: Truth {
        switch self {
        case .matches: .fails
        case .fails: .matches
        case .unknown: .unknown
        }
    }

    static func all<Element>(_ elements: some Sequence<Element>, _ judge: (Element) -> Truth) -> Truth {
        var verdict = Truth.matches
        for element in elements {
            switch judge(element) {
            case .matches: continue
            case .fails: return .fails
            case .unknown: verdict = .unknown
            }
        }
        return verdict
    }

    static func any<Element>(_ elements: some Sequence<Element>, _ judge: (Element) -> Truth) -> Truth {
        all(elements) { judge($0).negated }.negated
    }
}
