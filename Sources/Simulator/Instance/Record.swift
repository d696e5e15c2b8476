import BellhopCore

/// A row of any table, as the Table API shows it.
struct Record: Sendable {
    /// The table whose columns it has: for a task, its class.
    var table: String
    var id: String
    var values: [String: String]

    subscript(field: String) -> String { values[field] ?? "" }
}

extension Record {
    init(_ table: String, _ id: String, _ values: [String: String]) {
        self.init(table: table, id: id, values: values.merging(["sys_id": id]) { $1 })
    }
}

extension World {
    /// The rows of a table, to which the caller applies its query.
    ///
    /// - Parameter keys: the values of key columns that the query allows; with them not all rows need to be read.
    func records(of table: String, keys: [String: Set<String>]) -> [Record] {
        if Schema.isTask(table) {
            let ids = keys["sys_id"].map { wanted in wanted.count < taskOrder.count ? Array(wanted) : taskOrder } ?? taskOrder
            return ids.compactMap { tasks[$0] }.filter { table == "task" || $0.table == table }.map(record)
        }
        switch table {
        case "sys_user": return userOrder.compactMap { users[$0] }.map(record)
        case "sys_user_group": return groups.sorted { $0.key < $1.key }.map { Record(table, $0.key, ["name": $0.value]) }
        case "sys_journal_field":
            guard let tasks = keys["element_id"] else { return journal.map(record) }
            return tasks.flatMap { journal(of: $0) }.map(record)
        case "sys_attachment": return attachments.map(record)
        case "sys_user_has_role":
            return userOrder.compactMap { users[$0] }.flatMap { user in
                user.roles.map { Record(table, "\($0).\(user.id)", ["user": user.id, "role": $0, "state": "active"]) }
            }
        case "sys_user_role":
            return Set(users.values.flatMap(\.roles) + (accessRules ?? []).flatMap(\.roles)).sorted().map {
                Record(table, $0, ["name": $0])
            }
        case "sys_security_acl", "sys_security_acl_role", "sys_security_operation", "sys_security_type":
            return accessRecords(of: table)
        case "sys_dictionary":
            guard !labels.isEmpty else { return World.dictionary }
            return World.dictionary.map { row in
                var row = row
                if let label = labels[row["element"]] { row.values["column_label"] = label }
                return row
            }
        case "sys_documentation":
            return records(of: "sys_dictionary", keys: [:]).filter { !$0["element"].isEmpty }.map { row in
                Record(
                    table, row.id,
                    ["name": row["name"], "element": row["element"], "label": row["column_label"], "language": "en"])
            }
        case "sys_choice": return World.choices
        case "sys_db_object": return World.objects
        default: return []
        }
    }

    func record(_ id: String, in table: String) -> Record? {
        if Schema.isTask(table) { return tasks[id].map(record) }
        switch table {
        case "sys_user": return users[id].map(record)
        case "sys_user_group": return groups[id].map { Record(table, id, ["name": $0]) }
        default: return records(of: table, keys: [:]).first { $0.id == id }
        }
    }

    private func record(_ task: SimulatedTask) -> Record { Record(table: task.table, id: task.id, values: task.fields) }

    private func record(_ user: SimulatedUser) -> Record {
        let values = [
            "user_name": user.userName, "name": user.name, "email": user.email, "active": user.isActive ? "true" : "false",
            "time_zone": user.timeZone, "date_format": user.dateFormat, "time_format": user.timeFormat,
        ]
        return Record("sys_user", user.id, values)
    }

    private func record(_ attachment: SimulatedAttachment) -> Record {
        let values = [
            "sys_created_on": CivilTime.text(attachment.time),
            "sys_updated_on": CivilTime.text(attachment.time), "sys_created_by": attachment.author,
            "file_name": attachment.name, "table_name": attachment.table, "table_sys_id": attachment.task,
            "content_type": attachment.type, "size_bytes": String(attachment.bytes.count), "hash": attachment.hash,
        ]
        return Record("sys_attachment", attachment.id, values)
    }

    private func record(_ entry: JournalEntry) -> Record {
        let values = [
            "sys_created_on": CivilTime.text(entry.time), "sys_created_by": entry.author, "name": entry.table,
            "element_id": entry.task, "element": entry.kind.rawValue, "value": entry.text,
        ]
        return Record("sys_journal_field", entry.id, values)
    }

    /// `sys_dictionary`: one row per column, and one without `element` for the table itself. Inherited columns belong to `task`.
    private static let dictionary: [Record] = {
        var random = SeededRandom(seed: 7)
        return Schema.columns.sorted { $0.key < $1.key }.flatMap { table, fields in
            let own = fields.filter { table == "task" || !Schema.isTask(table) || Schema.tables["task"]?[$0.name] == nil }
            let rows = own.map { field -> [String: String] in
                var target = ""
                if case .reference(let table) = field.kind { target = table }
                return [
                    "name": table, "element": field.name, "internal_type": field.internalType, "reference": target,
                    "column_label": field.label, "active": "true", "choice": field.kind == .choice ? "3" : "",
                    "display": Schema.displayColumn(of: table) == field.name ? "true" : "false",
                ]
            }
            return ([["name": table, "internal_type": "collection", "active": "true"]] + rows).map {
                Record("sys_dictionary", random.hex(), $0)
            }
        }
    }()

    /// `sys_db_object`: one row per table; those of tasks extend `task`.
    private static let objects: [Record] = {
        var random = SeededRandom(seed: 9)
        let task = random.hex()
        return Schema.tables.keys.sorted().map { table in
            let id = table == "task" ? task : random.hex()
            let parent = Schema.isTask(table) && table != "task" ? task : ""
            let label = TaskClass.named(table)?.label ?? table
            return Record("sys_db_object", id, ["name": table, "label": label, "super_class": parent])
        }
    }()

    /// `sys_choice`; one choice is no longer active, and has the label of its successor.
    private static let choices: [Record] = {
        var random = SeededRandom(seed: 8)
        let active: [Record] = TaskClass.all.flatMap { kind in
            ["priority", "urgency", "impact", "state"].filter { kind.table == "task" || $0 == "state" }.flatMap { field in
                Schema.choices(of: field, in: kind.table).map { choice in
                    let values = [
                        "name": kind.table, "element": field, "value": choice.value, "label": choice.label, "language": "en",
                        "inactive": "false",
                    ]
                    return Record("sys_choice", random.hex(), values)
                }
            }
        }
        let old = [
            "name": "task", "element": "priority", "value": "old-high", "label": "2 - High", "language": "en", "inactive": "true",
        ]
        return active + [Record("sys_choice", random.hex(), old)]
    }()
}
