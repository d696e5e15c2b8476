/// A column, or one of another record through references: `caller_id.manager.name`.
struct FieldPath: Sendable, Hashable {
    var text: String
    var names: [String]
    /// The column at the end.
    var field: Field

    /// Nil if a part is not a column, or one before the last is not a reference.
    init?(_ text: String, in table: String) {
        self.text = text
        names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        var columns = Schema.tables[table]
        var last: Field?
        for name in names {
            guard let field = columns?[name] else { return nil }
            if case .reference(let target) = field.kind { columns = Schema.tables[target] } else { columns = nil }
            last = field
        }
        guard let last else { return nil }
        field = last
    }

    /// The record with the column; nil if a reference on the way is empty.
    func owner(from record: Record, in world: World) -> Record? {
        var record = record
        for name in names.dropLast() {
            guard case .reference(let table) = Schema.tables[record.table]?[name]?.kind,
                let next = world.record(record[name], in: table)
            else { return nil }
            record = next
        }
        return record
    }

    /// The value that conditions compare: journal columns are empty there.
    func raw(of record: Record, in world: World) -> String {
        if names.count == 1 { return field.kind == .journal ? "" : record[text] }
        guard field.kind != .journal else { return "" }
        return owner(from: record, in: world)?[field.name] ?? ""
    }
}
