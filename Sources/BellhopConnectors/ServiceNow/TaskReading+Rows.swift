import BellhopCore

extension TaskReading {
    /// The tasks of listed Table API rows, in chunks, on all cores: in a first sync this is most of the work, apart from the
    /// store's.
    func tasks(of entries: [Listing.Entry], in listing: Listing) async -> [[SnapshotText]] {
        await entries.inStretches { entries in
            var rows = TaskRows(self)
            return entries.map { rows.task($0.key, listing.tape(of: $0)) }
        }
    }
}

/// Writes the tasks of many rows: it reads each member once and copies texts as they are in the row.
private struct TaskRows: ~Copyable {
    private let reading: TaskReading
    private var columns: JSONColumns
    private let fields: [Field]
    /// The previous row's class and label: usually also the next row's.
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
        return SnapshotText(
            own, by: &writer,
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
