import BellhopCore

extension EncodedQuery {
    /// Whether a row of the Table API matches this query, as far as its fields show.
    ///
    /// It fails only rows that no reading of the query admits. A field missing from the row, a script, a keyword, a relative date
    /// and a hierarchy are unknown. The row has raw values (`sysparm_display_value` false or all).
    func judge(_ row: JSON) -> Verdict {
        judge { FieldValue(row[$0]) }
    }

    /// - Parameter value: a field's value by its path; nil if unknown.
    func judge(_ value: (String) -> FieldValue?) -> Verdict {
        if groups.isEmpty { return .matches }
        return Verdict.any(groups) { group in
            Verdict.all(group.terms) { term in
                Verdict.any(term.alternatives) { alternative in
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
    /// The fields' verdict on this condition.
    func judge(_ values: (String) -> FieldValue?) -> Verdict {
        if how == .anything { return .matches }
        guard let field = values(field) else { return .unknown }
        let subject = ComparedValue(field, of: self.field)
        switch how {
        case .anything: return .matches
        case .isEmpty: return Verdict(subject.isEmpty)
        case .isNotEmpty: return subject.isEmpty && subject.isJournal ? .unknown : Verdict(!subject.isEmpty)
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
        case .sameAs: return value.utf8.contains(UInt8(ascii: "@")) ? sameSpan(field, values) : same(subject, values)
        case .notSameAs:
            return (value.utf8.contains(UInt8(ascii: "@")) ? sameSpan(field, values) : same(subject, values)).negated
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

    private func isOneOf(_ subject: ComparedValue) -> Verdict {
        if ComparedValue.isComputed(value) { return .unknown }
        return Verdict.any(value.split(separator: ",")) { subject.equals(String($0)) }
    }

    private func isBetween(_ subject: ComparedValue) -> Verdict {
        let parts = value.split(separator: "@", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else { return .unknown }
        let above = subject.compare(parts[0]) { $0 >= $1 }
        let below = subject.compare(parts[1]) { $0 <= $1 }
        return Verdict.all([above, below]) { $0 }
    }

    /// The other field's value; nil if it is unknown or empty, or the comparison is not of plain values.
    private func other(_ subject: ComparedValue, _ values: (String) -> FieldValue?) -> String? {
        guard !subject.isEmpty, let raw = values(value)?.raw, !raw.isEmpty else { return nil }
        return raw
    }

    private func same(_ subject: ComparedValue, _ values: (String) -> FieldValue?) -> Verdict {
        other(subject, values).map(subject.equals) ?? .unknown
    }

    private func compare(
        _ subject: ComparedValue, _ values: (String) -> FieldValue?, _ holds: (Int, Int) -> Bool
    ) -> Verdict {
        other(subject, values).map { subject.compare($0, holds) } ?? .unknown
    }
}
