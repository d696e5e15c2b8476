import BellhopCore

/// Converts answers of the Table API and the Task Tracker into snapshots.
struct TaskReading: Sendable {
    var schema: TaskSchema
    var display: Display
    /// The table being read, for rows without a class.
    var table = "task"
    /// The paths that are not requested, because the table does not have them.
    var unrequested: Set<String> = []
    /// A task's address for people.
    var page: @Sendable (TaskKey) -> String

    /// The fields every row must have besides the declared ones.
    static let own = ["sys_id", "number", "short_description", "sys_class_name", "active", "assigned_to"]

    var paths: [String] { paths { _ in true } }

    /// - Parameter exists: false for fields the table is known not to have.
    func paths(_ exists: (String) -> Bool) -> [String] { (Self.own.filter(exists) + schema.fields.map(\.path)).unique() }

    func snapshot(_ key: TaskKey, row: JSON) -> Snapshot {
        let classOf = FieldValue(row["sys_class_name"])
        return snapshot(key, row: row, type: classOf?.label ?? ClassNames.label(of: className(classOf)))
    }

    /// A task from its row.
    /// - Parameter type: the label of its class, in the user's language.
    func snapshot(_ key: TaskKey, row: JSON, type: String) -> Snapshot {
        func own(_ name: String) -> String { row.raw(name) ?? "" }
        var snapshot = Snapshot(
            key: key, number: own("number"), title: own("short_description"), type: type,
            className: className(FieldValue(row["sys_class_name"])), url: page(key))
        for field in schema.fields {
            let value = FieldValue(row[field.path])
            snapshot.fields[field.name] = self.value(of: field, value)
            if let label = label(value) { snapshot.labels[field.name] = .string(label) }
        }
        return snapshot
    }

    /// The stored form of a task from its row.
    func text(of snapshot: Snapshot, row: JSON) -> SnapshotText { SnapshotText(snapshot, unread: unread { row[$0] }) }

    /// What a row does not show although it was requested, by the names of ``SnapshotText/unread``: access rules hide it. A server sends
    /// empty fields.
    ///
    /// Without the fields that say who changed a task how often: if they are hidden, it is unknown whose a change is.
    /// - Parameter value: the row's value at a path.
    func unread(_ value: (String) -> JSON?) -> [String] {
        let own = [(Change.number, "number"), (Change.title, "short_description"), (Change.className, "sys_class_name")]
        let declared = schema.fields.filter { !schema.roles.bookkeeping.contains($0.path) }.map { ($0.name, $0.path) }
        func isHidden(_ path: String) -> Bool { value(path) == nil && !unrequested.contains(path) }
        return (own + declared).filter { _, path in
            guard isHidden(path), let dot = path.firstIndex(of: ".") else { return isHidden(path) }
            // A field of the record that a reference names may be lacking because the reference is empty, or names another record now.
            let reference = String(path[..<dot])
            return (Self.own.contains(reference) || schema.fields.contains { $0.path == reference }) && isHidden(reference)
        }.map(\.0)
    }

    /// The class of a row; by default the table.
    func className(_ value: FieldValue?) -> String { value.flatMap { $0.raw.isEmpty ? nil : $0.raw } ?? table }

    /// A declared field's value from a row's value.
    func value(of field: TaskSchema.Field, _ value: FieldValue?) -> JSON {
        if display == .labels, field.type == .text, let label = value?.label { return .string(label) }
        return value?.typed(field.type) ?? Self.empty(field.type)
    }

    /// The display value of a field; nil if the source has only database values, or the row has no display value.
    func label(_ value: FieldValue?) -> String? { display == .values ? nil : value?.label }

    /// A task from the tracker's list, which has only a few fields of the user's active tasks.
    func snapshot(_ key: TaskKey, listed record: JSON, type: String, owner: String) -> Snapshot {
        let number = record["number"].textOrEmpty
        let title = record["short_desc"].textOrEmpty
        let known: [String: FieldValue?] = [
            "sys_id": FieldValue(.string(key.text)), "number": FieldValue(.string(number)),
            "short_description": FieldValue(.string(title)), "active": FieldValue(true),
            "assigned_to": FieldValue(.string(owner)), "sys_created_on": FieldValue(record["created"]),
        ]
        var snapshot = Snapshot(key: key, number: number, title: title, type: type, url: page(key))
        for field in schema.fields {
            snapshot.fields[field.name] = (known[field.path] ?? nil)?.typed(field.type) ?? Self.empty(field.type)
        }
        return snapshot
    }

    private static func empty(_ type: FieldType) -> JSON { type == .text ? "" : .null }
}

extension TaskReading {
    /// The tasks of listed Table API rows, in chunks, on all cores, because this is most of the work of a first poll besides the
    /// store's.
    func tasks(of entries: [Listing.Entry], in listing: Listing) async -> [[SnapshotText]] {
        await entries.inChunks { entries in
            var rows = TaskRows(self)
            return entries.map { rows.task($0.key, listing.tape(of: $0)) }
        }
    }
}

/// Converts many rows to tasks. It reads each member of a row once, and copies texts as they are encoded there.
private struct TaskRows: ~Copyable {
    private let reading: TaskReading
    private var columns: JSONColumns
    private let fields: [Field]
    /// The class and label of the previous row, which the next row often shares.
    private var latest = (name: "", label: "")
    private var writer = JSONWriter()

    /// A declared field, with its encoded name and its column's position.
    private struct Field {
        var declared: TaskSchema.Field
        var name: JSONName
        var place: Int
    }

    private static let own = ["number", "short_description", "sys_class_name"]

    init(_ reading: TaskReading) {
        self.reading = reading
        var names = Self.own
        fields = reading.schema.fields.map { field in
            let place = names.firstIndex(of: field.path) ?? names.count
            if place == names.count { names.append(field.path) }
            return Field(declared: field, name: JSONName(field.name), place: place)
        }
        columns = JSONColumns(names)
    }

    mutating func task(_ key: TaskKey, _ row: JSONTape) -> SnapshotText {
        columns.read(row)
        let classOf = FieldValue(columns[2], of: row)
        let name = reading.className(classOf)
        if classOf?.label == nil, latest.name != name { latest = (name, ClassNames.label(of: name)) }
        let own = Snapshot(
            key: key, number: FieldValue(columns[0], of: row)?.raw ?? "", title: FieldValue(columns[1], of: row)?.raw ?? "",
            type: classOf?.label ?? latest.label, className: name, url: reading.page(key))
        let (reading, columns, fields) = (reading, columns, fields)
        let unread = columns.isComplete ? [] : reading.unread { row.member($0, of: row.root).map(row.value(of:)) }
        return SnapshotText(
            own, by: &writer, unread: unread,
            labels: { writer in
                guard reading.display != .values else { return }
                for field in fields {
                    guard let label = reading.label(FieldValue(columns[field.place], of: row)) else { continue }
                    writer.name(field.name)
                    writer.write(label)
                }
            },
            fields: { writer in
                for field in fields {
                    writer.name(field.name)
                    if field.declared.type == .text, let node = columns[field.place], row.kind(of: node) == .string {
                        writer.write(node, of: row)
                    } else {
                        writer.write(reading.value(of: field.declared, FieldValue(columns[field.place], of: row)))
                    }
                }
            })
    }
}

/// A Table API field in any of its shapes: a text, or an object with `value`, `display_value` or both.
struct FieldValue: Sendable, Hashable {
    /// The database value; the display value if the answer has only that.
    var raw: String
    /// The display value; nil if the answer has none.
    var label: String?

    /// Nil if the answer does not have the field.
    init?(_ json: JSON?) {
        switch json {
        case nil: return nil
        case .string(let text)?: raw = text
        case .null?: raw = ""
        case .bool(let flag)?: raw = flag ? "true" : "false"
        case .int(let number)?: raw = String(number)
        case .double(let number)?: raw = String(number)
        case .array?: return nil
        case .object(let members)?:
            label = Self.text(members["display_value"])
            guard let value = Self.text(members["value"]) ?? label else { return nil }
            raw = value
        }
    }

    /// A row's member, read from a tape; nil if the row does not have it.
    init?(_ node: JSONTape.Node?, of row: JSONTape) { self.init(node.map(row.value(of:))) }

    private static func text(_ json: JSON?) -> String? {
        switch json {
        case .string(let text)?: text
        case .null?: ""
        case .int(let number)?: String(number)
        case .bool(let flag)?: flag ? "true" : "false"
        case nil, .double?, .array?, .object?: nil
        }
    }

    /// The value converted to this type. Empty and unreadable values are null, except for texts.
    func typed(_ type: FieldType) -> JSON { ItemValue.typed(raw, type) }
}

extension JSON {
    /// The database value of a row's field; nil if the row does not have it.
    func raw(_ field: String) -> String? { FieldValue(self[field])?.raw }
}
