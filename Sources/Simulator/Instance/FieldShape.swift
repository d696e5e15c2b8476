import BellhopCore

/// How the Table API shows records to one user: each value a string, references in one of six shapes.
struct FieldShape {
    var world: World
    var user: SimulatedUser
    var parameters: TableParameters
    /// The start of `link`, with a trailing slash.
    var uri: String

    /// - Parameter table: the requested table, whose columns are shown unless the request names some.
    func row(_ record: Record, table: String) -> JSON {
        var paths = parameters.fields ?? (Schema.columns[table] ?? []).compactMap { FieldPath($0.name, in: table) }
        if Schema.isTask(record.table), !user.omittedFields.isEmpty {
            paths.removeAll { user.omittedFields.contains($0.names[0]) }
        }
        return .object(.init(paths.map { ($0.text, value($0, of: record)) }))
    }

    private func value(_ path: FieldPath, of record: Record) -> JSON {
        let owner = path.owner(from: record, in: world)
        let isHidden = Schema.isTask(record.table) && user.hiddenFields.contains(path.names[0])
        let raw = isHidden || path.field.kind == .journal ? "" : owner?[path.field.name] ?? ""
        let shown = isHidden ? "" : owner.map { display(path.field, raw, of: $0) } ?? ""
        var link: String?
        if case .reference(let target) = path.field.kind, !raw.isEmpty, parameters.showsLinks {
            link = "\(uri)api/now/table/\(target)/\(raw)"
        }
        switch (parameters.display, link) {
        case (.raw, nil): return .string(raw)
        case (.raw, let link?): return ["link": .string(link), "value": .string(raw)]
        case (.display, nil): return .string(shown)
        case (.display, let link?): return ["display_value": .string(shown), "link": .string(link)]
        case (.all, nil): return ["display_value": .string(shown), "value": .string(raw)]
        case (.all, let link?): return ["display_value": .string(shown), "link": .string(link), "value": .string(raw)]
        }
    }

    /// The display value; for a journal column, its history, newest first.
    private func display(_ field: Field, _ raw: String, of record: Record) -> String {
        switch field.kind {
        case .string, .integer, .boolean, .identifier: raw
        case .className: TaskClass.named(raw)?.label(in: user.language) ?? raw
        case .choice: Schema.choiceLabel(raw, of: field.name, in: record.table)
        case .dateTime: CivilTime.read(raw).map(shown) ?? raw
        case .reference(let table): displayName(raw, in: table)
        case .journal: history(field.name, of: record.id)
        }
    }

    func displayName(_ id: String, in table: String) -> String {
        guard let record = world.record(id, in: table) else { return "" }
        return Schema.isTask(table) ? record["number"] : record["name"]
    }

    /// A time as the user sees it.
    private func shown(_ micros: Int64) -> String {
        CivilTime.text(
            micros + Int64(user.utcOffset) * CivilTime.minute, date: user.dateFormat.isEmpty ? "yyyy-MM-dd" : user.dateFormat,
            time: user.timeFormat.isEmpty ? "HH:mm:ss" : user.timeFormat)
    }

    private func history(_ field: String, of task: String) -> String {
        let entries = world.journal(of: task).filter { field == "comments_and_work_notes" || $0.kind.rawValue == field }
        return entries.reversed().map { entry in
            let time = shown(entry.time)
            let author = world.user(named: entry.author)?.name ?? entry.author
            let label = world.labels[entry.kind.rawValue] ?? Schema.tables["task"]?[entry.kind.rawValue]?.label ?? ""
            return "\(time) - \(author) (\(label))\n\(entry.text)\n\n"
        }.joined()
    }

    /// Whether the record matches the request's `name=value` pairs: by raw value, or for references and choices by display value.
    func fits(_ record: Record) -> Bool {
        parameters.pairs.allSatisfy { path, value in
            let raw = path.raw(of: record, in: world)
            return raw == value || path.owner(from: record, in: world).map { display(path.field, raw, of: $0) == value } ?? false
        }
    }
}
