import BellhopCore

/// The task fields and their types: the built-in list, and reading them from bellhop.yaml.
enum TaskFields {
    /// The journals a source can watch, by field name.
    static let journals = ["comments", "work_notes"]

    /// The task settings of any source of an instance.
    static let settings = [
        Setting(
            "fields", .list(.either([.text, .map(.text)])),
            "The fields of each task. A field of another record needs its own name: {caller_name: caller_id.name}."),
        Setting(
            "display", .oneOf(["values", "labels", "both"]), default: "values",
            "Whether to read database values, display values (labels), or both."),
        Setting("journal", .list(.oneOf(journals)), "The journals whose entries become `task_commented` events."),
        .initial(of: "task"),
    ]

    static let labels = Ability.setting("display", values: ["labels", "both"], line: "display: both")
    static let journal = Ability.setting("journal", values: Set(journals), line: "journal: [comments, work_notes]")

    /// The fields a source has by default. The last two show whether somebody else changed a task besides our own write.
    static let standard = [
        "number", "short_description", "sys_class_name", "priority", "urgency", "impact", "state", "active", "assigned_to",
        "assignment_group", "opened_by", "opened_at", "due_date", "sys_created_on", "sys_updated_on",
        "sys_updated_by", "sys_mod_count",
    ]

    /// The fields of a task while nothing is known about the instance.
    static let assumed = made(
        (standard + ["parent", "cmdb_ci", "sla_due", "start_date", "end_date"]).map {
            TaskSchema.Field($0, type(of: $0), holdsID: target(of: $0) != nil)
        })

    private static func made(_ fields: [TaskSchema.Field]) -> TaskSchema {
        TaskSchema(
            fields,
            roles: TaskSchema.Roles(
                bookkeeping: ["sys_updated_on", "sys_updated_by", "sys_mod_count"],
                created: fields.first { $0.path == "sys_created_on" }?.name ?? "sys_created_on", title: "short_description",
                className: "sys_class_name", computed: computed, updatedBy: "sys_updated_by",
                updates: "sys_mod_count", customPrefixes: ["u_", "x_"]))
    }

    /// The fields that the server computes, each with the fields it computes them from.
    private static let computed: [String: Set<String>] = {
        let states: Set = ["state", "incident_state", "problem_state"]
        let byState = [
            "active", "state", "incident_state", "problem_state", "closed_at", "closed_by", "resolved_at", "resolved_by",
            "reopen_count", "reopened_time", "reopened_by", "work_start", "work_end", "business_duration", "calendar_duration",
        ]
        let others: [String: Set<String>] = [
            "priority": ["impact", "urgency"], "reassignment_count": ["assigned_to", "assignment_group"],
        ]
        return others.merging(byState.map { ($0, states.subtracting([$0])) }) { $1 }
    }()

    private static let ints: Set<String> = [
        "priority", "urgency", "impact", "state", "severity", "incident_state", "escalation", "order", "reassignment_count",
        "reopen_count", "sys_mod_count",
    ]
    private static let bools: Set<String> = ["active", "knowledge", "made_sla", "locked_out", "vip"]
    private static let timestamps: Set<String> = [
        "opened_at", "closed_at", "resolved_at", "reopened_time", "due_date", "sla_due", "activity_due", "follow_up",
        "expected_start", "work_start", "work_end", "start_date", "end_date", "approval_set", "requested_by_date",
        "sys_created_on", "sys_updated_on",
    ]

    /// The tables referred to by fields that every instance has.
    private static let references: [String: String] = {
        let users = [
            "assigned_to", "opened_by", "closed_by", "resolved_by", "reopened_by", "caller_id", "requested_for", "requested_by",
        ]
        let others = [
            "assignment_group": "sys_user_group", "cmdb_ci": "cmdb_ci", "business_service": "cmdb_ci_service",
            "service_offering": "service_offering", "company": "core_company", "location": "cmn_location", "parent": "task",
            "parent_incident": "incident", "problem_id": "problem", "rfc": "change_request", "caused_by": "change_request",
            "cat_item": "sc_cat_item", "request": "sc_request", "request_item": "sc_req_item",
        ]
        return others.merging(users.map { ($0, "sys_user") }) { $1 }
    }()

    /// The table that the field at the end of a path refers to; nil if unknown.
    static func target(of path: String) -> String? { references[column(path)] }

    static func column(_ path: String) -> String { path.split(separator: ".").last.map(String.init) ?? path }

    /// Task tables that every instance has.
    static let taskTables: Set<String> = [
        "task", "incident", "problem", "change_request", "change_task", "sc_request", "sc_req_item", "sc_task",
    ]

    /// The type of the field at the end of a path; text if unknown.
    static func type(of path: String) -> FieldType {
        let name = column(path)
        return ints.contains(name) ? .int : bools.contains(name) ? .bool : timestamps.contains(name) ? .timestamp : .text
    }

    /// Reads `fields: [number, {caller_name: caller_id.name}]`; without it, the built-in list.
    ///
    /// If labels replace values, number fields become text fields.
    /// - Parameter known: the meaning of a field by its path; nil to take its type from the built-in list.
    static func schema(
        _ setting: JSON?, display: Display, source: String, known: (String) -> TableDictionary.Meaning? = { _ in nil }
    ) throws(ConnectorError) -> TaskSchema {
        func problem(_ message: String) -> ConnectorError { ConnectorError(connection: source, setting: "fields", message) }
        var fields: [TaskSchema.Field] = []
        func add(_ name: String, _ path: String) throws(ConnectorError) {
            guard FieldName.isValid(name) else { throw problem("`\(name)` is not a field name: letters, digits and _ only.") }
            guard !path.isEmpty,
                path.split(separator: ".", omittingEmptySubsequences: false).allSatisfy({ FieldName.isValid(String($0)) })
            else { throw problem("`\(path)` is not a path to a field.") }
            guard !fields.contains(where: { $0.name == name }) else { throw problem("The field `\(name)` is declared twice.") }
            let known = known(path)
            let type = known?.type ?? type(of: path)
            let isLabel = display == .labels
            fields.append(
                TaskSchema.Field(
                    name, isLabel && type == .int ? .text : type, path: path,
                    holdsID: !isLabel && (known?.isReference ?? (target(of: path) != nil)),
                    choices: isLabel ? [] : known?.choices ?? []))
        }
        guard let setting else {
            for name in standard { try add(name, name) }
            return made(fields)
        }
        for item in setting.asArray ?? [setting] {
            switch item {
            case .string(let name):
                guard !name.contains(".") else {
                    throw problem(
                        "A field of another record needs a name of its own: {\(name.replacing(".", with: "_")): \(name)}.")
                }
                try add(name, name)
            case .object(let renamed):
                for (name, path) in renamed { try add(name, path.asString ?? "") }
            case .null, .bool, .int, .double, .array:
                throw problem("A field is a name, or {name: path} for a field of another record.")
            }
        }
        guard !fields.isEmpty else { throw problem("A source needs at least one field.") }
        return made(fields)
    }
}

/// Whether fields have database values, display values, or both.
enum Display: String, Sendable, Hashable {
    case values, labels, both

    /// The value of `sysparm_display_value`. Labels alone would lack machine-readable classes, references and times.
    var parameter: String { self == .values ? "false" : "all" }
}
