public import BellhopCore

extension TableSource {
    public func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        var details = Details()
        let reading = reading
        let (listed, gone) = listing.search(for: keys)
        details.snapshots.reserveCapacity(keys.count)
        for tasks in await reading.tasks(of: listed, in: listing) {
            for task in tasks { details.snapshots.add(task) }
        }
        try await depart(gone, reading, &details)
        details.notice = unreadNotice(state.unread(after: details))
        return details
    }

    /// A notice about fields that rows do not show; nil if there are none.
    private func unreadNotice(_ unread: [String]) -> String? {
        let own = [Change.number: "number", Change.title: "short_description", Change.className: "sys_class_name"]
        let paths = unread.compactMap { name -> String? in
            guard let path = own[name] else { return schema[name]?.path }
            // Every table is asked for these, and has them certainly only if its dictionary says so.
            return columns.has(path) ? path : nil
        }.unique().sorted()
        if paths.isEmpty { return nil }
        let them = paths.count == 1 ? "it" : "them"
        return
            "Rows of source \(name) do not show \(paths.quotedList): access rules probably hide \(them) from the account. A task keeps the last "
            + "value that was read, and a new task has none. Let the account read \(them), or take \(them) out of `fields`."
    }

    /// Finds out why rows left the list. Queries them with the filter, because the walk may have missed one, and then without it.
    private func depart(_ keys: [TaskKey], _ reading: TaskReading, _ details: inout Details) async throws(Failure) {
        if keys.isEmpty { return }
        let still = try await rows(of: keys, filter: columns.query, paths: ["sys_id"])
        if let still { details.remaining = Set(still.keys) }
        let gone = keys.filter { !details.remaining.contains($0) }
        let found = gone.isEmpty ? [:] : try await rows(of: gone, filter: .all, paths: paths)
        for key in gone {
            guard still != nil, let found else {
                details.departures[key] = .unknown
                continue
            }
            guard let row = found[key] else {
                details.departures[key] = .gone
                continue
            }
            details.snapshots.add(reading.text(of: reading.snapshot(key, row: row), row: row))
            details.departures[key] = FieldValue(row["active"])?.typed(.bool) == .bool(false) ? .closed : .leftQuery
        }
    }

    /// The rows with these keys that match a filter; nil if the account may not read the table.
    func rows(of keys: [TaskKey], filter: EncodedQuery, paths: [String]) async throws(Failure) -> [TaskKey: JSON]? {
        var found: [TaskKey: JSON] = [:]
        do throws(Failure) {
            try await reader(paths).rows(of: keys, matching: filter) { found[$0] = $1 }
        } catch  where error.reason == .forbidden {
            return nil
        }
        return found
    }
}

extension TableSource {
    /// Decides whether an empty list is right although the server counts rows. Access rules hide rows that are still counted, but an
    /// answer that lost its rows looks the same.
    ///
    /// If tasks are known, their own records must confirm that they no longer match the query. At a first poll without known
    /// tasks, the empty list is an error until the server has returned it for a while.
    /// - Returns: whether access rules seem to hide all rows.
    func checkHiding(_ rows: TableWalk.Rows, _ walk: Walk, _ lastPoll: LastPoll) async throws(Failure) -> Bool {
        guard walk.isWhole, !rows.isSame, rows.hidesAll else {
            if !rows.isSame { state.showsRows() }
            return false
        }
        if lastPoll.known.isEmpty {
            let since = state.hidesRows(at: connection.clock.now)
            guard lastPoll.cursor != nil || connection.clock.now - since >= StormGuard.confirmationDelay else {
                throw hiding(rows)
            }
            return true
        }
        let some = Array(lastPoll.known.prefix(TableReader.batch).map(\.key))
        guard let found = try await self.rows(of: some, filter: .all, paths: ["sys_id"]), !found.isEmpty else {
            throw hiding(rows)
        }
        guard try await self.rows(of: Array(found.keys), filter: columns.query, paths: ["sys_id"])?.isEmpty == true else {
            throw hiding(rows)
        }
        return true
    }

    private func hiding(_ rows: TableWalk.Rows) -> Failure {
        Failure.badAnswer(
            "\(connection.base.place) \(Self.counted(rows)) of \(settings.table) for source \(name) and shows none of them (X-Total-Count), so "
                + "the answer is discarded. If this persists, access rules hide them from the account.")
    }

    func hidingNotice(_ rows: TableWalk.Rows) -> String {
        "Source \(name): the server \(Self.counted(rows)) that the query asks for and shows none of them: access rules hide them from the account."
    }

    private static func counted(_ rows: TableWalk.Rows) -> String {
        "counts \(rows.counted ?? 0) row\(rows.counted == 1 ? "" : "s")"
    }
}

extension TableWalk.Rows {
    /// Whether the server counted rows but its pages had none.
    fileprivate var hidesAll: Bool { (counted ?? 0) > 0 && movedOn == 0 && nameless.isEmpty && listing.entries.isEmpty }
}

extension TableSource: SampledSource {
    var question: [(name: String, text: String)] {
        var parts = [("table", settings.table), ("query", asked.text.isEmpty ? "all rows" : asked.text)]
        if let category = settings.question.category { parts.append(("query_category", category)) }
        return parts
    }

    /// The query of the settings, with the order for people.
    private var asked: EncodedQuery {
        var query = columns.query
        query.order = settings.question.order
        return query
    }

    func sample(_ limit: Int, fields: [String]) async throws(Failure) -> SourceSample {
        try await columns.examine()
        let wanted = fields.map { schema[$0] ?? TaskSchema.Field($0, .text) }
        // If a field does not exist, the sample has all columns, so that the caller sees which exist.
        let shown = wanted.isEmpty || wanted.contains { !columns.exists($0.path) } ? schema.fields : wanted
        let reader = reader(["sys_id"] + shown.map(\.path).filter { $0 != "sys_id" })
        let reply = try await reader.page(asked, limit: min(limit, settings.question.limit ?? limit))
        let body: JSON
        do {
            body = try JSON.parse(reply.body)
        } catch {
            throw Failure.badAnswer("The rows of \(settings.table) cannot be read: \(error.description).")
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
        if let total = reply.total { count = total } else { count = try await reader.count(columns.query) }
        return SourceSample(question: question, count: count, columns: there.map(\.name), rows: rows)
    }
}
