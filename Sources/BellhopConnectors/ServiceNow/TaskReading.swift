import BellhopCore

/// Converts answers of the Table API and the Task Tracker into snapshots.
struct TaskReading: Sendable {
    var schema: TaskSchema
    var display: Display
    /// The table being read, for rows without a class.
    var table = "task"
    /// A task's address for people.
    var page: @Sendable (TaskKey) -> String

    /// The fields every row must have besides the declared ones.
    static let own = ["sys_id", "number", "short_description", "sys_class_name", "active", "assigned_to"]

    /// The fields to request.
    var paths: [String] { paths { _ in true } }

    /// - Parameter exists: false for fields the table is known not to have.
    func paths(_ exists: (String) -> Bool) -> [String] {
        var seen: Set<String> = []
        return (Self.own.filter(exists) + schema.fields.map(\.path)).filter { seen.insert($0).inserted }
    }

    /// A task from its table row.
    func snapshot(_ key: TaskKey, row: JSON) -> Snapshot {
        let classOf = FieldValue(row["sys_class_name"])
        let name = className(classOf)
        var snapshot = snapshot(key, row: row, type: classOf?.label ?? ClassNames.label(of: name))
        snapshot.className = name
        return snapshot
    }

    /// A task from its row; `type` is its class's label, in the user's language.
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

    /// The class of a row; by default the table.
    func className(_ value: FieldValue?) -> String { value.flatMap { $0.raw.isEmpty ? nil : $0.raw } ?? table }

    /// A declared field's value from a row's value.
    func value(of field: TaskSchema.Field, _ value: FieldValue?) -> JSON {
        if display == .labels, field.type == .text, let label = value?.label { return .string(label) }
        return value?.typed(field.type) ?? Self.nothing(field.type)
    }

    /// The display value of a field; nil if not wanted, or missing from the row.
    func label(_ value: FieldValue?) -> String? { display == .values ? nil : value?.label }

    /// A task from the tracker's brief list, which has active tasks of one user only.
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
