extension EncodedQuery {
    /// A comparison operator as written. Synonyms are distinct, so that a query is written as it was read.
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

        /// Longer operators before their own prefixes.
        static let byLength = allCases.sorted { $0.rawValue.utf8.count > $1.rawValue.utf8.count }

        var takesValue: Bool {
            switch self {
            case .isEmpty, .isNotEmpty, .anything, .emptyString, .changes: false
            case .equal, .notEqual, .less, .atMost, .greater, .atLeast, .contains, .containsNot, .containsNotShort, .startsWith,
                .endsWith, .endsWithShort, .isOneOf, .isNotOneOf, .between, .sameAs, .notSameAs, .greaterThanField,
                .lessThanField,
                .atLeastField, .atMostField, .moreThan, .lessThan, .dynamic, .inHierarchy, .instanceOf, .changesFrom, .changesTo,
                .on, .notOn, .datePart, .relativeAfter, .relativeBefore, .relativeAtOrAfter, .relativeAtOrBefore, .relativeOn:
                true
            }
        }

        /// Whether its value begins with another field's name.
        var comparesFields: Bool {
            switch self {
            case .sameAs, .notSameAs, .greaterThanField, .lessThanField, .atLeastField, .atMostField, .moreThan, .lessThan: true
            case .isEmpty, .isNotEmpty, .anything, .emptyString, .changes, .equal, .notEqual, .less, .atMost, .greater, .atLeast,
                .contains, .containsNot, .containsNotShort, .startsWith, .endsWith, .endsWithShort, .isOneOf, .isNotOneOf,
                .between, .dynamic, .inHierarchy, .instanceOf, .changesFrom, .changesTo, .on, .notOn, .datePart, .relativeAfter,
                .relativeBefore, .relativeAtOrAfter, .relativeAtOrBefore, .relativeOn:
                false
            }
        }

        /// Whether it tests how a record is changing, which a row does not show.
        var isOfChanges: Bool { self == .changes || self == .changesFrom || self == .changesTo }
    }
}
