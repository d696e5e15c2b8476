public import BellhopCore

extension TableSource: SampledSource {
    public var question: [(name: String, text: String)] {
        var parts = [("table", settings.table), ("query", asked.text.isEmpty ? "all rows" : asked.text)]
        if let category = settings.category { parts.append(("query_category", category)) }
        return parts
    }

    /// The query in the order of a person's query.
    private var asked: EncodedQuery {
        var query = columns.query
        query.order = settings.order
        return query
    }

    public func sample(_ limit: Int, fields: [String]) async throws(Failure) -> SourceSample {
        try await columns.examine()
        let wanted = fields.map { schema[$0] ?? TaskSchema.Field($0, .text) }
        // If one does not exist, the columns show the caller which do.
        let shown = wanted.isEmpty || wanted.contains { !columns.exists($0.path) } ? schema.fields : wanted
        let ask = ask(["sys_id"] + shown.map(\.path).filter { $0 != "sys_id" })
        let reply = try await ask.page(asked, limit: min(limit, settings.limit ?? limit))
        let body: JSON
        do {
            body = try JSON.parse(reply.body)
        } catch {
            throw Failure(
                .badAnswer, .retry(after: nil), "The rows of \(settings.table) cannot be read: \(error.description).")
        }
        let found = body["result"]?.asArray ?? []
        let there = found.isEmpty ? shown : shown.filter { field in found.contains { $0[field.path] != nil } }
        let rows = found.map { row in
            JSON.Object(
                there.map { field in
                    let value = FieldValue(row[field.path])
                    return (field.name, .string((settings.display == .values ? nil : value?.label) ?? value?.raw ?? ""))
                })
        }
        let count: Int?
        if let total = reply.total { count = total } else { count = try await ask.count(columns.query) }
        return SourceSample(question: question, count: count, columns: there.map(\.name), rows: rows)
    }
}
