import BellhopCore

/// Makes snapshots of what the Table API and the Task Tracker say of a task.
struct TaskReading: Sendable {
    var schema: TaskSchema
    var display: Display
    /// The table that is read, for rows that have no class of their own.
    var table = "task"
    /// Where a person opens a task.
    var page: @Sendable (TaskKey) -> String

    /// What every row must have besides the declared fields.
    static let own = ["sys_id", "number", "short_description", "sys_class_name", "active", "assigned_to"]

    /// What to ask for.
    var paths: [String] { paths { _ in true } }

    /// - Parameter exists: false for fields that the table is known not to have.
    func paths(_ exists: (String) -> Bool) -> [String] {
        var seen: Set<String> = []
        return (Self.own.filter(exists) + schema.fields.map(\.path)).filter { seen.insert($0).inserted }
    }

    /// A task from its row in a table.
    func snapshot(_ key: TaskKey, row: JSON) -> Snapshot {
        let classOf = FieldValue(row["sys_class_name"])
        let name = className(classOf)
        var snapshot = snapshot(key, row: row, type: classOf?.label ?? ClassNames.label(of: name))
        snapshot.className = name
        return snapshot
    }

    /// A task from its row; `type` is the group it stands in, in the user's language.
    func snapshot(_ key: TaskKey, row: JSON, type: String) -> Snapshot {
        func own(_ name: String) -> String { FieldValue(row[name])?.raw ?? "" }
        var snapshot = Snapshot(
            key: key, number: own("number"), title: own("short_description"), type: type, className: own("sys_class_name"),
            url: page(key))
        for field in schema.fields {
            let value = FieldValue(row[field.path])
            snapshot.fields[field.name] = self.value(of: field, value)
            if let label = label(value) { snapshot.labels[field.name] = .string(label) }
        }
        return snapshot
    }

    /// The class that a row says; one that says none is of the table.
    func className(_ value: FieldValue?) -> String { value.flatMap { $0.raw.isEmpty ? nil : $0.raw } ?? table }

    /// What a declared field holds of what a row has for it.
    func value(of field: TaskSchema.Field, _ value: FieldValue?) -> JSON {
        if display == .labels, field.type == .text, let label = value?.label { return .string(label) }
        return value?.typed(field.type) ?? Self.nothing(field.type)
    }

    /// What people read in the place of a field's value; nil where nobody asked, or the row does not say.
    func label(_ value: FieldValue?) -> String? { display == .values ? nil : value?.label }

    /// A task from the little that the tracker's list says; the list has active tasks of one user only.
    func snapshot(_ key: TaskKey, listed record: JSON, type: String, owner: String) -> Snapshot {
        let number = record["number"]?.asString ?? ""
        let title = record["short_desc"]?.asString ?? ""
        let known: [String: FieldValue?] = [
            "sys_id": FieldValue(.string(key.text)), "number": FieldValue(.string(number)),
            "short_description": FieldValue(.string(title)), "active": FieldValue(true),
            "assigned_to": FieldValue(.string(owner)),
            "sys_created_on": FieldValue(record["created"]),
        ]
        var snapshot = Snapshot(key: key, number: number, title: title, type: type, url: page(key))
        for field in schema.fields {
            snapshot.fields[field.name] = (known[field.path] ?? nil)?.typed(field.type) ?? Self.nothing(field.type)
        }
        return snapshot
    }

    private static func nothing(_ type: FieldType) -> JSON { type == .text ? "" : .null }
}
