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
        return details
    }

    /// Why rows left the list: asks the server with the filter, because the walk may have missed one, and then without it.
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
            details.snapshots[key] = reading.snapshot(key, row: row)
            details.departures[key] = FieldValue(row["active"])?.typed(.bool) == .bool(false) ? .closed : .leftQuery
        }
    }

    /// Those of these rows that exist; nil if the account may not ask.
    func rows(
        of keys: [TaskKey], filter: EncodedQuery, paths: [String]
    ) async throws(Failure) -> [TaskKey: JSON]? {
        var found: [TaskKey: JSON] = [:]
        let ask = ask(paths)
        for start in stride(from: 0, to: keys.count, by: Self.batch) {
            let some = keys[start..<min(start + Self.batch, keys.count)]
            let query = filter.and(EncodedQuery(.init("sys_id", .isOneOf, some.map(\.text).joined(separator: ","))))
            do throws(Failure) {
                for row in try await ask.page(query, limit: some.count).list {
                    guard let id = FieldValue(row["sys_id"])?.raw, some.contains(TaskKey(id)) else {
                        throw Failure(
                            .badAnswer, .retry(after: nil),
                            "\(connection.base.place) answered with rows that were not asked for: it ignored the query, so the answer is discarded."
                        )
                    }
                    found[TaskKey(id)] = row
                }
            } catch  where error.reason == .forbidden {
                return nil
            }
        }
        return found
    }

    /// This many keys keep an address short.
    static let batch = 40
}

extension ServiceNowReply {
    /// The rows of a list that is not parsed yet.
    var list: [JSON] {
        get throws(Failure) {
            do {
                if let rows = try JSON.parse(body)["result"]?.asArray { return rows }
                throw Failure(.badAnswer, .retry(after: nil), "The answer has no list in 'result'.")
            } catch let failure as Failure {
                throw failure
            } catch {
                throw Failure(.badAnswer, .retry(after: nil), "The answer is not JSON: \(error).")
            }
        }
    }
}
