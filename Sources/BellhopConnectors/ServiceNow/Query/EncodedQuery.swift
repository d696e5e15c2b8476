import BellhopCore

/// A parsed encoded query (`sysparm_query`): rows match if all terms of one of its groups do.
///
/// `a=1^b=2^ORb=3^NQc=4^ORDERBYd` is two groups; the first has the terms `a=1` and `b=2` or `b=3`. Parse text written by people
/// with ``init(parsing:)``; ``text`` escapes values.
struct EncodedQuery: Sendable, Hashable {
    /// Terms that must all hold; never empty.
    struct Group: Sendable, Hashable { var terms: [Term] }

    /// Alternatives, one of which must hold; never empty.
    struct Term: Sendable, Hashable { var alternatives: [Alternative] }

    enum Alternative: Sendable, Hashable {
        case condition(Condition)
        /// `123TEXTQUERY321=`: a search in the table's text index.
        case keywords(String)
        /// A related list's query or a join, as written.
        case verbatim(String)
    }

    /// One comparison. Its value is not escaped: ``EncodedQuery/text`` does that.
    struct Condition: Sendable, Hashable {
        var field: String
        var how: Operator
        var value: String

        init(_ field: String, _ how: Operator, _ value: String = "") { (self.field, self.how, self.value) = (field, how, value) }

        init(_ field: String, isOneOf values: [String]) { self.init(field, .isOneOf, values.joined(separator: ",")) }
    }

    struct Order: Sendable, Hashable {
        var field: String
        var descending = false
    }

    /// Empty if every row matches, as in ``all``.
    var groups: [Group]
    var order: [Order] = []
    /// Whether `^EQ` closes the conditions. It has no effect, but ``text`` keeps it.
    var isClosed = false

    static let all = EncodedQuery(groups: [])
    static let keywordsMark = "123TEXTQUERY321="

    /// The value of `sysparm_query`: escaped, but not percent-encoded. Parsing it gives this query again.
    var text: String {
        var parts: [String] = []
        for (index, group) in groups.enumerated() {
            let written = group.terms.map { $0.alternatives.map(\.text).joined(separator: "^OR") }.joined(separator: "^")
            parts.append(index == 0 ? written : "NQ" + written)
        }
        if isClosed { parts.append("EQ") }
        parts += order.map { ($0.descending ? "ORDERBYDESC" : "ORDERBY") + $0.field }
        return parts.joined(separator: "^")
    }

    var conditions: [Condition] {
        groups.flatMap { group in
            group.terms.flatMap { term in
                term.alternatives.compactMap { if case .condition(let condition) = $0 { condition } else { nil } }
            }
        }
    }

    /// The field paths of the conditions, their operands and the order, each once, as written.
    ///
    /// Fields in a related list's query or a join are omitted, because they belong to other tables.
    var fields: [String] {
        (conditions.flatMap { [$0.field] + [$0.otherField].compactMap(\.self) } + order.map(\.field)).unique()
    }

    /// The rows that match both queries, without an order.
    ///
    /// Groups are alternatives, so the result combines each group of one query with each of the other. Added terms precede a
    /// related list's query or a join, which may extend to the group's end.
    func and(_ other: EncodedQuery) -> EncodedQuery {
        if groups.isEmpty { return EncodedQuery(groups: other.groups) }
        if other.groups.isEmpty { return EncodedQuery(groups: groups) }
        return EncodedQuery(
            groups: groups.flatMap { mine in
                other.groups.map { theirs in
                    let terms = mine.terms + theirs.terms
                    return Group(terms: terms.filter { !$0.isVerbatim } + terms.filter(\.isVerbatim))
                }
            })
    }

    /// The rows that match one of the queries, without an order.
    func or(_ other: EncodedQuery) -> EncodedQuery {
        groups.isEmpty || other.groups.isEmpty ? .all : EncodedQuery(groups: groups + other.groups)
    }
}

extension EncodedQuery {
    /// One group in which all conditions hold.
    init(_ conditions: Condition..., order: [Order] = []) {
        self.init(groups: [Group(terms: conditions.map { Term($0) })], order: order)
    }

    /// A value with its only special character, `^`, doubled.
    static func escaped(_ value: String) -> String {
        value.utf8.contains(UInt8(ascii: "^")) ? value.replacingScalars(of: "^", with: "^^") : value
    }
}

extension EncodedQuery.Term {
    init(_ conditions: EncodedQuery.Condition...) { alternatives = conditions.map { .condition($0) } }

    var isVerbatim: Bool { alternatives.contains { if case .verbatim = $0 { true } else { false } } }
}

extension EncodedQuery.Alternative {
    var text: String {
        switch self {
        case .condition(let condition): condition.field + condition.how.rawValue + EncodedQuery.escaped(condition.value)
        case .keywords(let words): EncodedQuery.keywordsMark + EncodedQuery.escaped(words)
        case .verbatim(let text): text
        }
    }
}

extension EncodedQuery.Condition {
    /// The other field of an operator that compares two: the value up to an `@`.
    var otherField: String? {
        guard how.comparesFields else { return nil }
        return value.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init)
    }
}

extension EncodedQuery {
    /// A comparison operator. Synonyms are distinct, so that a parsed query is written unchanged.
    enum Operator: String, Sendable, Hashable, CaseIterable {
        case equal = "="
        case notEqual = "!="
        case less = "<"
        case atMost = "<="
        case greater = ">"
        case atLeast = ">="
        case contains = "LIKE"
        case containsNot = "NOT LIKE"
        case containsNotShort = "NOTLIKE"
        case startsWith = "STARTSWITH"
        case endsWith = "ENDSWITH"
        case endsWithShort = "%"
        case isOneOf = "IN"
        case isNotOneOf = "NOT IN"
        case isEmpty = "ISEMPTY"
        case isNotEmpty = "ISNOTEMPTY"
        case anything = "ANYTHING"
        case emptyString = "EMPTYSTRING"
        case between = "BETWEEN"
        case sameAs = "SAMEAS"
        case notSameAs = "NSAMEAS"
        case greaterThanField = "GT_FIELD"
        case lessThanField = "LT_FIELD"
        case atLeastField = "GT_OR_EQUALS_FIELD"
        case atMostField = "LT_OR_EQUALS_FIELD"
        case moreThan = "MORETHAN"
        case lessThan = "LESSTHAN"
        case dynamic = "DYNAMIC"
        case inHierarchy = "IN_HIERARCHY"
        case instanceOf = "INSTANCEOF"
        case changes = "VALCHANGES"
        case changesFrom = "CHANGESFROM"
        case changesTo = "CHANGESTO"
        case on = "ON"
        case notOn = "NOTON"
        case datePart = "DATEPART"
        case relativeAfter = "RELATIVEGT"
        case relativeBefore = "RELATIVELT"
        case relativeAtOrAfter = "RELATIVEGE"
        case relativeAtOrBefore = "RELATIVELE"
        case relativeOn = "RELATIVEEE"

        /// Sorted so that an operator comes before its prefixes.
        static let byLength = allCases.sorted { $0.rawValue.utf8.count > $1.rawValue.utf8.count }

        var takesValue: Bool { ![.isEmpty, .isNotEmpty, .anything, .emptyString, .changes].contains(self) }

        /// Whether its value begins with another field's name.
        var comparesFields: Bool {
            [.sameAs, .notSameAs, .greaterThanField, .lessThanField, .atLeastField, .atMostField, .moreThan, .lessThan]
                .contains(self)
        }

        /// Whether it tests how a record changes, which its row does not show.
        var testsChange: Bool { [.changes, .changesFrom, .changesTo].contains(self) }
    }
}
