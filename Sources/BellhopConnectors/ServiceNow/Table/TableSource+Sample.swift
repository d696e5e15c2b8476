public import BellhopCore

extension TableSource: SampledSource {
    public var question: [(name: String, text: String)] {
        var parts = [("table", settings.table), ("query", asked.text.isEmpty ? "all rows" : asked.text)]
        if let category = settings.category { parts.append(("query_category", category)) }
        return parts
    }

    /// The query in the order in which a person wants to see its rows.
    private var asked: EncodedQuery {
        var query = settings.query
        query.order = settings.order
        return query
    }

    public func sample(_ limit: Int, fields: [String]) async throws(Failure) -> SourceSample {
        try await columns.examine()
        let shown = fields.isEmpty ? schema.fields : fields.map { schema[$0] ?? TaskSchema.Field($0, .text) }
        let unknown = shown.map(\.path).filter { !columns.exists($0) }
        guard unknown.isEmpty else {
            let names = unknown.map { "`\($0)`" }.joined(separator: ", ")
            throw Failure(
                .badArguments, .giveUp, "The table \(settings.table) has no field \(names), as far as this account can see.")
        }
        let ask = ask(["sys_id"] + shown.map(\.path).filter { $0 != "sys_id" })
        let reply = try await ask.page(asked, limit: min(limit, settings.limit ?? limit))
        let body: JSON
        do {
            body = try JSON.parse(reply.body)
        } catch {
            throw Failure(
                .badAnswer, .retry(after: nil), "The rows of \(settings.table) cannot be read: \(error.description).")
        }
        let rows = (body["result"]?.asArray ?? []).map { row in
            JSON.Object(
                shown.map { field in
                    let value = FieldValue(row[field.path])
                    return (field.name, .string((settings.display == .values ? nil : value?.label) ?? value?.raw ?? ""))
                })
        }
        let count: Int?
        if let total = reply.total { count = total } else { count = try await ask.count(settings.query) }
        return SourceSample(question: question, count: count, columns: shown.map(\.name), rows: rows)
    }
}
