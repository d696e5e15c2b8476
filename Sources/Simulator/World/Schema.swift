/// The tables of the simulated instance and their columns.
enum Schema {
    private static let sysID = Field("sys_id", .identifier, "Sys ID")

    static let bookkeeping = [
        sysID,
        Field("sys_created_on", .dateTime, "Created"),
        Field("sys_created_by", .string, "Created by"),
        Field("sys_updated_on", .dateTime, "Updated"),
        Field("sys_updated_by", .string, "Updated by"),
        Field("sys_mod_count", .integer, "Updates"),
    ]

    static let task =
        bookkeeping + [
            Field("number", .string, "Number"),
            Field("sys_class_name", .className, "Task type"),
            Field("short_description", .string, "Short description"),
            Field("description", .string, "Description"),
            Field("priority", .choice, "Priority"),
            Field("urgency", .choice, "Urgency"),
            Field("impact", .choice, "Impact"),
            Field("state", .choice, "State"),
            Field("active", .boolean, "Active"),
            Field("assigned_to", .reference("sys_user"), "Assigned to"),
            Field("assignment_group", .reference("sys_user_group"), "Assignment group"),
            Field("opened_by", .reference("sys_user"), "Opened by"),
            Field("opened_at", .dateTime, "Opened"),
            Field("due_date", .dateTime, "Due date"),
            Field("sla_due", .dateTime, "SLA due"),
            Field("reassignment_count", .integer, "Reassignment count"),
            Field("escalation", .integer, "Escalation"),
            Field("closed_at", .dateTime, "Closed"),
            Field("closed_by", .reference("sys_user"), "Closed by"),
            Field("parent", .reference("task"), "Parent"),
            Field("correlation_id", .string, "Correlation ID"),
            Field("correlation_display", .string, "Correlation display"),
            Field("comments", .journal, "Additional comments"),
            Field("work_notes", .journal, "Work notes"),
            Field("comments_and_work_notes", .journal, "Comments and Work notes"),
        ]

    private static let closing = [
        Field("close_code", .string, "Resolution code"), Field("close_notes", .string, "Resolution notes"),
    ]

    private static let ofClass: [String: [Field]] = [
        "task": [],
        "incident": [
            Field("caller_id", .reference("sys_user"), "Caller"), Field("category", .string, "Category"),
            Field("subcategory", .string, "Subcategory"), Field("contact_type", .string, "Channel"),
        ] + closing,
        "change_request": [
            Field("type", .string, "Type"), Field("risk", .integer, "Risk"), Field("start_date", .dateTime, "Planned start date"),
            Field("end_date", .dateTime, "Planned end date"),
        ] + closing,
        "sc_task": [Field("request", .reference("task"), "Request")],
        "problem": [Field("category", .string, "Category")] + closing,
    ]

    private static let others: [String: [Field]] = [
        "sys_user": bookkeeping + [
            Field("user_name", .string, "User ID"), Field("name", .string, "Name"), Field("email", .string, "Email"),
            Field("active", .boolean, "Active"), Field("time_zone", .string, "Time zone"),
            Field("date_format", .string, "Date format"), Field("time_format", .string, "Time format"),
        ],
        "sys_user_has_role": [
            sysID, Field("user", .reference("sys_user"), "User"),
            Field("role", .reference("sys_user_role"), "Role"), Field("state", .string, "State"),
        ],
        "sys_user_role": [sysID, Field("name", .string, "Name")],
        "sys_security_acl": [
            sysID, Field("name", .string, "Name"),
            Field("operation", .reference("sys_security_operation"), "Operation"),
            Field("type", .reference("sys_security_type"), "Type"), Field("active", .boolean, "Active"),
            Field("admin_overrides", .boolean, "Admin overrides"), Field("advanced", .boolean, "Advanced"),
            Field("condition", .string, "Condition"), Field("script", .string, "Script"),
        ],
        "sys_security_acl_role": [
            sysID, Field("sys_security_acl", .reference("sys_security_acl"), "Access Control"),
            Field("sys_user_role", .reference("sys_user_role"), "Role"),
        ],
        "sys_security_operation": [sysID, Field("name", .string, "Name")],
        "sys_security_type": [sysID, Field("name", .string, "Name")],
        "sys_attachment": bookkeeping + [
            Field("file_name", .string, "File name"), Field("table_name", .string, "Table name"),
            Field("table_sys_id", .string, "Table sys ID"), Field("content_type", .string, "Content type"),
            Field("size_bytes", .integer, "Size bytes"), Field("hash", .string, "Hash"),
        ],
        "sys_user_group": bookkeeping + [Field("name", .string, "Name"), Field("description", .string, "Description")],
        "sys_journal_field": [
            sysID, Field("sys_created_on", .dateTime, "Created"),
            Field("sys_created_by", .string, "Created by"), Field("name", .string, "Name"),
            Field("element_id", .string, "Element ID"),
            Field("element", .string, "Element"), Field("value", .string, "Value"), Field("sys_tags", .string, "Tags"),
        ],
        "sys_dictionary": [
            sysID, Field("name", .string, "Table"), Field("element", .string, "Column name"),
            Field("internal_type", .string, "Type"), Field("reference", .string, "Reference"),
            Field("column_label", .string, "Column label"), Field("active", .boolean, "Active"),
            Field("display", .boolean, "Display"), Field("choice", .integer, "Choice"),
        ],
        "sys_documentation": [
            sysID, Field("name", .string, "Table"), Field("element", .string, "Element"),
            Field("label", .string, "Label"), Field("language", .string, "Language"),
        ],
        "sys_db_object": [
            sysID, Field("name", .string, "Name"), Field("label", .string, "Label"),
            Field("super_class", .reference("sys_db_object"), "Extends table"),
        ],
        "sys_choice": [
            sysID, Field("name", .string, "Table"), Field("element", .string, "Element"),
            Field("value", .string, "Value"), Field("label", .string, "Label"), Field("language", .string, "Language"),
            Field("inactive", .boolean, "Inactive"),
        ],
    ]

    /// The columns of a table by name; nil if the instance has no such table.
    static let tables: [String: [String: Field]] = {
        var all = others
        for (table, own) in ofClass { all[table] = task + own }
        return all.mapValues { fields in Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0) }) }
    }()

    /// The columns of a table in the order in which a record shows them.
    static let columns: [String: [Field]] = tables.mapValues { $0.values.sorted { $0.name < $1.name } }

    /// The column with the display names of a table's records.
    static func displayColumn(of table: String) -> String { isTask(table) ? "number" : "name" }

    static func isTask(_ table: String) -> Bool { ofClass[table] != nil }

    /// The label of a raw value of `priority`, `urgency`, `impact` or `state`.
    static func choiceLabel(_ value: String, of field: String, in table: String) -> String {
        choices(of: field, in: table).first { $0.value == value }?.label ?? value
    }

    static func choices(of field: String, in table: String) -> [(value: String, label: String)] {
        switch field {
        case "priority":
            [("1", "1 - Critical"), ("2", "2 - High"), ("3", "3 - Moderate"), ("4", "4 - Low"), ("5", "5 - Planning")]
        case "urgency", "impact": [("1", "1 - High"), ("2", "2 - Medium"), ("3", "3 - Low")]
        case "state":
            (TaskClass.named(table) ?? .task).states.map { ($0.key, $0.value) }.sorted {
                (Int($0.value) ?? 0) < (Int($1.value) ?? 0)
            }
        default: []
        }
    }
}

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

    init(_ name: String, _ kind: Kind, _ label: String) { (self.name, self.kind, self.label) = (name, kind, label) }

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
