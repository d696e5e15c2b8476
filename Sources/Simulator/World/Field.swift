/// A column of the dictionary.
struct Field: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case string, integer, boolean, dateTime, identifier, className
        /// Raw values are sys_ids of the named table.
        case reference(String)
        /// Integer with labels.
        case choice
        /// Holds a history; reads as "" in raw mode.
        case journal
    }

    var name: String
    var kind: Kind
    var label: String

    init(_ name: String, _ kind: Kind, _ label: String) {
        self.name = name
        self.kind = kind
        self.label = label
    }

    /// The dictionary's `internal_type`.
    var internalType: String {
        switch kind {
        case .string: "string"
        case .integer, .choice: "integer"
        case .boolean: "boolean"
        case .dateTime: "glide_date_time"
        case .identifier: "GUID"
        case .className: "sys_class_name"
        case .reference: "reference"
        case .journal: name == "comments_and_work_notes" ? "journal_list" : "journal_input"
        }
    }

    /// Set by the platform; a client that writes it is refused.
    var isSystem: Bool { name.hasPrefix("sys_") || name == "number" || name == "comments_and_work_notes" }
}
