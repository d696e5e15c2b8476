/// An encoded query: groups joined by `^NQ`, each of conditions joined by `^`, each of alternatives joined by `^OR`.
struct EncodedQuery: Sendable {
    enum Operator: String, Sendable, CaseIterable {
        // Longer operators come before shorter ones that they start with.
        case isNotEmpty = "ISNOTEMPTY"
        case isEmpty = "ISEMPTY"
        case anything = "ANYTHING"
        case emptyString = "EMPTYSTRING"
        case greaterOrEqualField = "GT_OR_EQUALS_FIELD"
        case lessOrEqualField = "LT_OR_EQUALS_FIELD"
        case greaterField = "GT_FIELD"
        case lessField = "LT_FIELD"
        case notSameAs = "NSAMEAS"
        case sameAs = "SAMEAS"
        case instanceOf = "INSTANCEOF"
        case dynamic = "DYNAMIC"
        case between = "BETWEEN"
        case notOn = "NOTON"
        case on = "ON"
        case startsWith = "STARTSWITH"
        case endsWith = "ENDSWITH"
        case notLike = "NOT LIKE"
        case notLikeShort = "NOTLIKE"
        case notIn = "NOT IN"
        case like = "LIKE"
        case isIn = "IN"
        case notEqual = "!="
        case lessOrEqual = "<="
        case greaterOrEqual = ">="
        case equal = "="
        case less = "<"
        case greater = ">"
        case endsWithShort = "%"
    }

    struct Term: Sendable {
        var path: FieldPath
        var how: Operator
        var value: String
        /// The elements of `IN` and `NOT IN`.
        var list: Set<String> = []
        /// The two ends of `BETWEEN`, `ON` and `NOTON`.
        var ends: [String] = []
        /// The column that `SAMEAS` and similar operators compare with.
        var other: FieldPath?
        /// Words that the record must contain, in any column. If there are any, the other properties are unused.
        var keywords: [String] = []
    }

    struct Order: Sendable {
        var path: FieldPath
        var descending: Bool
    }

    /// Without groups all rows match.
    var groups: [[[Term]]] = []
    var order: [Order] = []

    /// For each column, the raw values that a matching row can have, if the query limits them.
    var keys: [String: Set<String>] {
        guard groups.count == 1 else { return [:] }
        var keys: [String: Set<String>] = [:]
        for alternatives in groups[0] where alternatives.count == 1 {
            let term = alternatives[0]
            if term.how == .equal { keys[term.path.text] = [term.value] }
            if term.how == .isIn { keys[term.path.text] = term.list }
        }
        return keys
    }

    func matches(_ record: Record, in world: World) -> Bool {
        groups.isEmpty || groups.contains { group in group.allSatisfy { $0.contains { $0.matches(record, in: world) } } }
    }

    /// Sorts stably: rows that compare as equal keep their order.
    func sort(_ records: [Record], in world: World) -> [Record] {
        guard !order.isEmpty else { return records }
        let keyed = records.enumerated().map { place, record in
            (place: place, keys: order.map { $0.path.raw(of: record, in: world) }, record: record)
        }
        return keyed.sorted { left, right in
            for (index, order) in order.enumerated() where left.keys[index] != right.keys[index] {
                let isLess = Term.isLess(left.keys[index], right.keys[index], order.path.field)
                return order.descending ? !isLess : isLess
            }
            return left.place < right.place
        }.map(\.record)
    }
}

extension EncodedQuery.Term {
    func matches(_ record: Record, in world: World) -> Bool {
        if !keywords.isEmpty {
            let text = record.values.values.joined(separator: "\n").lowercased()
            return keywords.allSatisfy { text.contains($0) }
        }
        let raw = key(path.raw(of: record, in: world))
        let otherRaw = key(other?.raw(of: record, in: world) ?? "")
        return switch how {
        case .isNotEmpty: !raw.isEmpty
        case .isEmpty, .emptyString: raw.isEmpty
        case .anything: true
        case .startsWith: raw.hasPrefix(value)
        case .endsWith, .endsWithShort: raw.hasSuffix(value)
        case .like: value.isEmpty || raw.contains(value)
        case .notLike, .notLikeShort: !value.isEmpty && !raw.contains(value)
        case .isIn: list.contains(raw)
        case .notIn: !list.contains(raw)
        case .equal: raw == value
        case .notEqual: raw != value
        case .less: !raw.isEmpty && Self.isLess(raw, value, path.field)
        case .greater: !raw.isEmpty && Self.isLess(value, raw, path.field)
        case .lessOrEqual: !raw.isEmpty && !Self.isLess(value, raw, path.field)
        case .greaterOrEqual: !raw.isEmpty && !Self.isLess(raw, value, path.field)
        case .between, .on: isBetween(raw)
        case .notOn: !raw.isEmpty && !isBetween(raw)
        case .sameAs: raw == otherRaw
        case .notSameAs: raw != otherRaw
        case .greaterField: !raw.isEmpty && !otherRaw.isEmpty && Self.isLess(otherRaw, raw, path.field)
        case .lessField: !raw.isEmpty && !otherRaw.isEmpty && Self.isLess(raw, otherRaw, path.field)
        case .greaterOrEqualField: !raw.isEmpty && !otherRaw.isEmpty && !Self.isLess(raw, otherRaw, path.field)
        case .lessOrEqualField: !raw.isEmpty && !otherRaw.isEmpty && !Self.isLess(otherRaw, raw, path.field)
        case .instanceOf: raw == value || value == "task" && Schema.isTask(raw)
        case .dynamic: list.contains(raw)
        }
    }

    /// A value as the database compares it: in columns of text, case does not matter.
    func key(_ value: String) -> String { path.field.kind == .string ? value.lowercased() : value }

    private func isBetween(_ raw: String) -> Bool {
        !raw.isEmpty && !Self.isLess(raw, ends[0], path.field) && !Self.isLess(ends[1], raw, path.field)
    }

    /// Numbers by value, others by their characters; times in the database's form sort as text.
    static func isLess(_ left: String, _ right: String, _ field: Field) -> Bool {
        if field.kind == .integer || field.kind == .choice, let left = Int(left), let right = Int(right) { return left < right }
        return left < right
    }
}
