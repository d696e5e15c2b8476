import BellhopCore

/// Reads the dictionary of a table and its ancestors, and of the tables that the references in paths lead to.
struct DictionaryReading: Sendable {
    var session: ServiceNowSession
    var timeout: Duration?

    /// How many references of a path are followed.
    private static let depth = 3

    /// Nil if the account may not read the table's columns.
    func read(_ table: String, for paths: [String]) async throws(Failure) -> TableDictionary? {
        var dictionary = TableDictionary()
        var wanted = [table]
        for _ in 0...Self.depth where !wanted.isEmpty {
            for table in wanted {
                if let columns = try await columns(of: table, named: paths) { dictionary.tables[table] = columns }
            }
            wanted = Self.reached(from: table, by: paths, in: dictionary).filter { dictionary.tables[$0] == nil }
        }
        return dictionary.tables[table] == nil ? nil : dictionary
    }

    /// The tables that paths lead to.
    private static func reached(from table: String, by paths: [String], in dictionary: TableDictionary) -> [String] {
        var tables: Set<String> = []
        for path in paths {
            let names = path.split(separator: ".").map(String.init)
            for count in 1..<max(names.count, 1) {
                guard let next = dictionary.column(names[..<count].joined(separator: "."), in: table)?.reference else { break }
                tables.insert(next)
            }
        }
        return tables.sorted()
    }

    private func columns(of table: String, named paths: [String]) async throws(Failure) -> [String: TableDictionary.Column]? {
        let chain = try await chain(of: table)
        let tables = chain.joined(separator: ",")
        let query = EncodedQuery(.init("name", .isOneOf, tables), .init("element", .isNotEmpty))
        let rows = try await rows("sys_dictionary", query, ["name", "element", "internal_type", "reference", "choice"])
        var columns: [String: TableDictionary.Column] = [:]
        // A table overrides columns of its ancestors, so the ancestors are read first.
        for table in chain.reversed() {
            for row in rows where row.raw("name") == table {
                guard let name = row.raw("element"), !name.isEmpty else { continue }
                let reference = row.raw("reference") ?? ""
                // 1 and 3 are choice lists; 2 only suggests values.
                columns[name] = .init(
                    type: row.raw("internal_type") ?? "string", reference: reference.isEmpty ? nil : reference,
                    isChoice: ["1", "3"].contains(row.raw("choice") ?? ""))
            }
        }
        guard columns["sys_id"] != nil else { return nil }
        try await refine(&columns, of: tables, named: paths)
        return columns
    }

    /// A column's choices, from the nearest table that has any; empty if the account may not read them. An inactive choice whose label
    /// an active one has is named only by its value.
    func choices(of field: String, in table: String) async throws(Failure) -> [TaskSchema.Choice] {
        let chain = try await chain(of: table)
        let query = EncodedQuery(.init("name", isOneOf: chain), .init("element", .equal, field))
        let rows = try await rows("sys_choice", query, ["name", "value", "label", "inactive"])
        for table in chain {
            let own = rows.filter { $0.raw("name") == table }
            if own.isEmpty { continue }
            let active = Set(own.filter { $0.raw("inactive") != "true" }.compactMap { $0.raw("label")?.lowercased() })
            return own.compactMap { row in
                guard let value = row.raw("value"), let label = row.raw("label") else { return nil }
                let isReplaced = row.raw("inactive") == "true" && active.contains(label.lowercased())
                return TaskSchema.Choice(value, isReplaced ? value : label)
            }
        }
        return []
    }

    /// A column's labels, including those in other languages and of single tables. Empty if the account may not read all of them.
    func labels(of field: String, in table: String) async throws(Failure) -> Set<String> {
        let chain = try await chain(of: table)
        let element = EncodedQuery(.init("element", .equal, field))
        let own = try await rows("sys_dictionary", EncodedQuery(.init("name", isOneOf: chain)).and(element), ["column_label"])
        // A class may have its own label, and the table may be extended by others.
        let others = own.isEmpty ? [] : try await rows("sys_documentation", element, ["label"])
        // Without the translations, a heading in another language would seem to be forged.
        if others.isEmpty { return [] }
        let labels = own.compactMap { $0.raw("column_label") } + others.compactMap { $0.raw("label") }
        return Set(labels.filter { !$0.isEmpty })
    }

    func display(of table: String) async throws(Failure) -> String {
        let chain = try await chain(of: table)
        let query = EncodedQuery(.init("name", isOneOf: chain), .init("display", .equal, "true"))
        let rows = try await rows("sys_dictionary", query, ["name", "element", "display"])
        for table in chain {
            let own = rows.first { $0.raw("name") == table && $0.raw("display") == "true" }
            if let name = own?.raw("element"), !name.isEmpty { return name }
        }
        return TaskFields.taskTables.contains(table) ? "number" : "name"
    }

    /// The fields of `sys_db_object` with the name of a table and of its ancestors.
    static let ancestors = (0...6).map { String(repeating: "super_class.", count: $0) + "name" }

    /// A table and its ancestors, itself first; without a row, a table is assumed to extend `task`.
    static func chain(of table: String, _ row: JSON?) -> [String] {
        guard let row else { return table == "task" ? [table] : [table, "task"] }
        let chain = ancestors.compactMap { row.raw($0) }.filter { !$0.isEmpty }
        return chain.first == table ? chain : [table] + chain
    }

    private func chain(of table: String) async throws(Failure) -> [String] {
        let row = try await rows("sys_db_object", EncodedQuery(.init("name", .equal, table)), Self.ancestors).first
        return Self.chain(of: table, row)
    }

    /// Adds the choices of columns. A text column whose choices are all integers becomes an integer column.
    private func refine(
        _ columns: inout [String: TableDictionary.Column], of tables: String, named paths: [String]
    ) async throws(Failure) {
        let names = Set(paths).filter { name in
            columns[name].map { $0.isChoice || ["choice", "string"].contains($0.type) } ?? false
        }.sorted()
        if names.isEmpty { return }
        let query = EncodedQuery(
            .init("name", .isOneOf, tables), .init("element", .isOneOf, names.joined(separator: ",")),
            .init("inactive", .equal, "false"))
        var choices: [String: [TaskSchema.Choice]] = [:]
        let rows = try await rows("sys_choice", query, ["name", "element", "value", "label"])
        for table in tables.split(separator: ",") {
            // The nearest table that has choices for a column has all of them.
            let known = Set(choices.keys)
            for row in rows where row.raw("name") ?? "" == table {
                guard let name = row.raw("element"), let value = row.raw("value"), !known.contains(name) else { continue }
                choices[name, default: []].append(TaskSchema.Choice(value, row.raw("label") ?? ""))
            }
        }
        for (name, choices) in choices {
            let isNumber = choices.allSatisfy { Int64($0.value).map(String.init) == $0.value }
            if isNumber, ["choice", "string"].contains(columns[name]?.type ?? "") { columns[name]?.type = "integer" }
            if choices.count <= Self.maxChoices { columns[name]?.choices = choices.filter { !$0.label.isEmpty } }
        }
    }

    /// Longer lists of choices are dropped.
    private static let maxChoices = 500

    /// The rows of a query; empty if the account may not read them.
    private func rows(_ table: String, _ query: EncodedQuery, _ paths: [String]) async throws(Failure) -> [JSON] {
        do throws(Failure) {
            let reader = TableReader(session: session, table: table, paths: paths, timeout: timeout)
            return try await reader.page(query, limit: 10_000).list
        } catch  where [.forbidden, .goneOrHidden, .refused].contains(error.reason) {
            return []
        }
    }
}
