import BellhopCore

/// Reads tasks by their sys_ids from the Table API.
struct TaskTable: Sendable {
    var session: ServiceNowSession
    var paths: [String]
    var display: Display
    /// How many tasks a request reads; each makes the address longer.
    var batch = 100
    var timeout: Duration?

    /// At most this many unlisted tasks are read per poll.
    static let mostDepartures = 1000

    /// The tasks that could be read.
    struct Rows: Sendable {
        var found: [TaskKey: JSON] = [:]
        /// Why the others could not: the account may not read them.
        var refusal: Failure?
    }

    /// Reads them all, or returns the refusal; throws failures that a retry may fix.
    func read(_ keys: [TaskKey]) async throws(Failure) -> Rows {
        var rows = Rows()
        var pending = stride(from: 0, to: keys.count, by: batch).map { Array(keys[$0..<min($0 + batch, keys.count)]) }
        pending.reverse()
        while let keys = pending.popLast() {
            do throws(Failure) {
                try await take(keys, into: &rows)
            } catch  where (error.reason == .quota || error.reason == .tooLarge) && keys.count > 1 {
                let half = keys.count / 2
                pending.append(Array(keys[half...]))
                pending.append(Array(keys[..<half]))
            } catch  where error.reason == .forbidden {
                rows.refusal = error
                return rows
            }
        }
        return rows
    }

    private func take(_ keys: [TaskKey], into rows: inout Rows) async throws(Failure) {
        let asked = Set(keys)
        var call = ServiceNowCall.records(keys, of: "task", paths, display: display.parameter)
        call.timeout = timeout
        let reply = try await session.send(call)
        for row in reply.rows {
            guard let id = FieldValue(row["sys_id"])?.raw else {
                throw Failure(.badAnswer, .retry(after: nil), "\(session.base.place) sent a task without a sys_id.")
            }
            let key = TaskKey(id)
            guard asked.contains(key) else {
                // A server that does not understand a query drops that part and returns every row.
                throw Failure(
                    .badAnswer, .retry(after: nil),
                    "\(session.base.place) answered with tasks that were not asked for: it ignored the query, so the answer is discarded."
                )
            }
            rows.found[key] = row
        }
    }
}
