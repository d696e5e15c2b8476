public import BellhopCore

/// An operator of the structured filter, named as in bellhop.yaml.
enum FilterOperator: String, Sendable, CaseIterable {
    case `is`
    case isNot = "is_not"
    case isOneOf = "is_one_of"
    case isNotOneOf = "is_not_one_of"
    case isEmpty = "is_empty"
    case isNotEmpty = "is_not_empty"
    case isEmptyString = "is_empty_string"
    case contains
    case doesNotContain = "does_not_contain"
    case startsWith = "starts_with"
    case endsWith = "ends_with"
    case greaterThan = "greater_than"
    case atLeast = "at_least"
    case lessThan = "less_than"
    case atMost = "at_most"
    case between
    case on
    case notOn = "not_on"
    case before
    case atOrBefore = "at_or_before"
    case after
    case atOrAfter = "at_or_after"
    case sameAs = "same_as"
    case notSameAs = "not_same_as"
    case inHierarchy = "in_hierarchy"
    case instanceOf = "instance_of"
    case dynamic
    case isMoreThan = "is_more_than"
    case isLessThan = "is_less_than"
    case datePart = "date_part"
    case relative
    case changes
    case changesFrom = "changes_from"
    case changesTo = "changes_to"

    var encoded: EncodedQuery.Operator {
        switch self {
        case .is: .equal
        case .isNot: .notEqual
        case .isOneOf: .isOneOf
        case .isNotOneOf: .isNotOneOf
        case .isEmpty: .isEmpty
        case .isNotEmpty: .isNotEmpty
        case .isEmptyString: .emptyString
        case .contains: .contains
        case .doesNotContain: .containsNot
        case .startsWith: .startsWith
        case .endsWith: .endsWith
        case .greaterThan, .after: .greater
        case .atLeast, .atOrAfter: .atLeast
        case .lessThan, .before: .less
        case .atMost, .atOrBefore: .atMost
        case .between: .between
        case .on: .on
        case .notOn: .notOn
        case .sameAs: .sameAs
        case .notSameAs: .notSameAs
        case .inHierarchy: .inHierarchy
        case .instanceOf: .instanceOf
        case .dynamic: .dynamic
        case .isMoreThan: .moreThan
        case .isLessThan: .lessThan
        case .datePart: .datePart
        case .relative: .relativeAtOrAfter
        case .changes: .changes
        case .changesFrom: .changesFrom
        case .changesTo: .changesTo
        }
    }

    /// The operator of the encoded query that compares with another field; nil if there is none.
    var encodedForField: EncodedQuery.Operator? {
        switch self {
        case .is: .sameAs
        case .isNot: .notSameAs
        case .greaterThan, .after: .greaterThanField
        case .atLeast, .atOrAfter: .atLeastField
        case .lessThan, .before: .lessThanField
        case .atMost, .atOrBefore: .atMostField
        case .isOneOf, .isNotOneOf, .isEmpty, .isNotEmpty, .isEmptyString, .contains, .doesNotContain, .startsWith, .endsWith,
            .between, .on, .notOn, .sameAs, .notSameAs, .inHierarchy, .instanceOf, .dynamic, .isMoreThan, .isLessThan, .datePart,
            .relative, .changes, .changesFrom, .changesTo:
            nil
        }
    }

    /// Whether an empty field matches. That needs a condition of its own, because the server's `!=` skips empty fields.
    var alsoMeansEmpty: Bool { [.isNot, .isNotOneOf, .doesNotContain, .notOn].contains(self) }

    enum Operand: Sendable { case value, list, flag, text, pair, day, moment, field, name, identifier, distance, part, relative }

    var operand: Operand {
        switch self {
        case .is, .isNot, .greaterThan, .atLeast, .lessThan, .atMost, .changesFrom, .changesTo: .value
        case .isOneOf, .isNotOneOf: .list
        case .isEmpty, .isNotEmpty, .isEmptyString, .changes: .flag
        case .contains, .doesNotContain, .startsWith, .endsWith: .text
        case .between: .pair
        case .on, .notOn: .day
        case .before, .atOrBefore, .after, .atOrAfter: .moment
        case .sameAs, .notSameAs: .field
        case .instanceOf: .name
        case .dynamic, .inHierarchy: .identifier
        case .isMoreThan, .isLessThan: .distance
        case .datePart: .part
        case .relative: .relative
        }
    }

    /// Whether a relative day, month or hour means its start or its end: `after` yesterday means after the end.
    var boundary: RelativeTime.Boundary { [.after, .greaterThan, .atOrBefore, .atMost].contains(self) ? .end : .start }

    /// A sentence and an example condition for the reference page.
    var reference: (summary: String, field: String, example: JSON) {
        switch self {
        case .is: ("The value; `me` is the connection's user, `my_groups` any of the user's groups.", "assigned_to", "me")
        case .isNot: ("Another value, or none.", "state", 7)
        case .isOneOf: ("One of several values.", "priority", [1, 2])
        case .isNotOneOf: ("None of several values, or no value.", "state", [6, 7])
        case .isEmpty: ("No value; `false` is the opposite.", "assigned_to", true)
        case .isNotEmpty: ("Any value.", "assigned_to", true)
        case .isEmptyString: ("A text without characters; in some fields that differs from no value.", "short_description", true)
        case .contains: ("It contains the text.", "short_description", "broken")
        case .doesNotContain: ("It does not contain the text, or is empty.", "short_description", "test")
        case .startsWith: ("It begins with the text.", "number", "INC")
        case .endsWith: ("It ends with the text.", "number", "42")
        case .greaterThan: ("A greater number or a later time.", "reassignment_count", 3)
        case .atLeast: ("The number or time, or a greater one.", "reassignment_count", 3)
        case .lessThan: ("A smaller number or an earlier time.", "priority", 3)
        case .atMost: ("The number or time, or a smaller one.", "priority", 3)
        case .between: ("Two values and all between them.", "priority", [2, 4])
        case .on: ("A day, month or quarter.", "opened_at", "today")
        case .notOn: ("Any other day, month or quarter, or none.", "opened_at", ["days_ago": 3])
        case .before: ("An earlier time.", "due_date", "2026-01-05T09:00:00+01:00")
        case .atOrBefore: ("The time or an earlier one.", "opened_at", ["days_ago": 1])
        case .after: ("A later time.", "opened_at", ["hours_ago": 4, "at": "now"])
        case .atOrAfter: ("The time or a later one.", "sla_due", ["days_ago": 0])
        case .sameAs:
            (
                "The same value as another field; `{field: …, by: day}` the same hour, day, week, month, quarter or year.",
                "opened_by", "caller_id"
            )
        case .notSameAs: ("A value that differs from another field's.", "opened_by", "assigned_to")
        case .inHierarchy:
            ("A record, or one below it, by its sys_id.", "cmdb_ci", .string(String(repeating: "0123456789abcdef", count: 2)))
        case .instanceOf: ("A table, or one that extends it.", "sys_class_name", "task")
        case .dynamic:
            ("A dynamic filter option of the instance, by its sys_id.", "assignment_group", "d6435e965f510100a9ad2572f2b47744")
        case .isMoreThan:
            (
                "Its distance from another time is greater: `after`, `before` or `from` that time.", "sla_due",
                ["days": 3, "after": "opened_at"]
            )
        case .isLessThan: ("Its distance from another time is smaller.", "resolved_at", ["hours": 4, "before": "sla_due"])
        case .datePart:
            ("An hour, weekday, week, month, quarter or year, in the user's time zone.", "opened_at", ["weekday": "monday"])
        case .relative:
            (
                "A time counted from now: `on`, `before`, `at_or_before`, `after`, `at_or_after`.", "opened_at",
                ["at_or_after": ["hours_ago": 4]]
            )
        case .changes: ("It is changing. Not for a source.", "state", true)
        case .changesFrom: ("It is changing from a value. Not for a source.", "state", 4)
        case .changesTo: ("It is changing to a value. Not for a source.", "state", 6)
        }
    }
}

/// The structured filter's operators, for the reference page.
public enum FilterReference {
    public struct Row: Sendable, Hashable {
        public var word: String
        public var summary: String
        /// A condition as in bellhop.yaml.
        public var example: String
        /// The encoded query it compiles to.
        public var encoded: String
    }

    public static var operators: [Row] {
        FilterOperator.allCases.map { how in
            let (summary, field, example) = how.reference
            let condition: JSON = .object([field: .object([how.rawValue: example])])
            let compiled: String
            do throws(SettingComplaints) {
                compiled = try Filter(condition).query.text
            } catch {
                preconditionFailure("an example of the reference is wrong: \(error.all)")
            }
            return Row(
                word: how.rawValue, summary: summary, example: "\(field): {\(how.rawValue): \(flow(example))}", encoded: compiled)
        }
    }

    /// A filter's settings besides its conditions.
    public static var settings: [Setting] { Filter.settings }

    /// A value in YAML's flow style.
    private static func flow(_ json: JSON) -> String {
        switch json {
        case .null, .bool, .int, .double: json.text
        case .string(let text): text
        case .array(let items): "[" + items.map(flow).joined(separator: ", ") + "]"
        case .object(let members): "{" + members.map { "\($0.key): \(flow($0.value))" }.joined(separator: ", ") + "}"
        }
    }
}
