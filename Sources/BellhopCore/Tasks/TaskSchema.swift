/// The type of a declared field of a task.
public enum FieldType: String, Sendable, Hashable, CaseIterable {
    case text, int, double, bool, timestamp
}

/// The names that fields may have: letters, digits and `_`.
public enum FieldName {
    public static func isValid(_ text: String) -> Bool {
        guard let first = text.utf8.first, !first.isASCIIDigit else { return false }
        return text.utf8.allSatisfy(isAllowed)
    }

    /// A text turned into a valid name.
    public static func made(of text: String) -> String {
        let name = String(decoding: text.utf8.map { isAllowed($0) ? $0 : UInt8(ascii: "_") }, as: UTF8.self)
        return isValid(name) ? name : "field_\(name)"
    }

    /// Whether the byte is a letter, a digit or `_`.
    public static func isAllowed(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || byte == UInt8(ascii: "_") }
}

/// The fields a source declares, in order, with their types: conditions are checked against them.
public struct TaskSchema: Sendable, Hashable {
    /// The special fields of a source.
    public struct Roles: Sendable, Hashable {
        /// Fields that every write changes, and whose changes are therefore ignored.
        public var bookkeeping: Set<String>
        /// The field that says when a task was created, which `task.created` reads too. It may be undeclared.
        public var created: String?
        /// The fields of the record that a task's title and class come from.
        public var title: String?
        public var className: String?
        /// The fields that the system computes, each with the fields it computes it from; by their names in the record.
        public var computed: [String: Set<String>]
        /// The fields that say who changed a record last, and how often it was changed; by their names in the record.
        public var updatedBy: String?
        public var updates: String?
        /// The prefixes of the names of fields that customers add: a field with such a name may exist.
        public var customPrefixes: [String]

        public init(
            bookkeeping: Set<String> = [], created: String? = nil, title: String? = nil, className: String? = nil,
            computed: [String: Set<String>] = [:], updatedBy: String? = nil, updates: String? = nil, customPrefixes: [String] = []
        ) {
            self.bookkeeping = bookkeeping
            self.created = created
            self.title = title
            self.className = className
            self.computed = computed
            (self.updatedBy, self.updates) = (updatedBy, updates)
            self.customPrefixes = customPrefixes
        }
    }

    public struct Field: Sendable, Hashable {
        /// The name in conditions and in `task.fields`.
        public var name: String
        public var type: FieldType
        /// Its path in the remote record (`caller_id.name`); the name itself unless it was renamed.
        public var path: String
        /// Whether it holds the id of another record, whose name is the field's label.
        public var holdsID: Bool
        /// The possible values, if they are known. A value may have several labels, one in each language.
        public var choices: [Choice]

        public init(
            _ name: String, _ type: FieldType, path: String? = nil, holdsID: Bool = false, choices: [Choice] = []
        ) {
            self.name = name
            self.type = type
            self.path = path ?? name
            self.holdsID = holdsID
            self.choices = choices
        }
    }

    /// A value that a field may have, with the label that people read.
    public struct Choice: Sendable, Hashable {
        public var value: String
        public var label: String

        public init(_ value: String, _ label: String) { (self.value, self.label) = (value, label) }

        /// The values that have a label. Compares exactly; if none matches, without regard to case; if still none matches, also without the
        /// number at the beginning (`2 - High`).
        public static func values(called text: String, among choices: [Choice]) -> [String] {
            let wanted = text.lowercased()
            let ways: [(String) -> Bool] = [
                { $0 == text }, { $0.lowercased() == wanted }, { unnumbered($0).lowercased() == wanted },
            ]
            for way in ways {
                let values = choices.filter { way($0.label) }.map(\.value).unique()
                if !values.isEmpty { return values }
            }
            return []
        }

        private static func unnumbered(_ label: String) -> String {
            let rest = label.drop { $0.isNumber }
            guard rest.count < label.count, rest.hasPrefix(" - ") else { return label }
            return String(rest.dropFirst(3))
        }
    }

    public var fields: [Field]
    public var roles: Roles

    public init(_ fields: [Field], roles: Roles = Roles()) { (self.fields, self.roles) = (fields, roles) }

    public subscript(name: String) -> Field? { fields.first { $0.name == name } }

    /// The declared field that says when a task was created.
    public var created: Field? { roles.created.flatMap { self[$0] } }

    /// The type and the path of each field.
    public var definitions: [String: String] {
        Dictionary(fields.map { ($0.name, "\($0.type.rawValue) \($0.path)") }) { _, last in last }
    }
}
