import BellhopCore

/// Reads tasks by their sys_ids from the Table API.
struct TaskTable: Sendable {
    var session: ServiceNowSession
    var paths: [String]
    var display: Display
    /// How many tasks one request reads; each makes the address longer.
    var batch = 100
    var timeout: Duration?

    /// The maximal number of unlisted tasks read per poll.
    static let maxDepartures = 1000

    struct Rows: Sendable {
        /// The tasks that could be read.
        var found: [TaskKey: JSON] = [:]
        /// Why the account may not read the others.
        var refusal: Failure?
    }

    /// Reads tasks. If the account may not read them, returns the refusal; throws failures that a retry may fix.
    func read(_ keys: [TaskKey]) async throws(Failure) -> Rows {
        var rows = Rows()
        do throws(Failure) {
            try await keys.inBatches(of: batch) { keys async throws(Failure) in try await take(keys, into: &rows) }
        } catch  where error.reason == .forbidden {
            rows.refusal = error
        }
        return rows
    }

    private func take(_ keys: [TaskKey], into rows: inout Rows) async throws(Failure) {
        let asked = Set(keys)
        var call = ServiceNowCall.records(keys, of: "task", paths, display: display.parameter)
        call.timeout = timeout
        let reply = try await session.send(call)
        for row in reply.rows {
            guard let id = row.raw("sys_id") else {
                throw Failure.badAnswer("\(session.base.place) sent a task without a sys_id.")
            }
            let key = TaskKey(id)
            guard asked.contains(key) else {
                // A server drops the part of a query that it does not understand, and returns all rows.
                throw Failure.badAnswer(
                    "\(session.base.place) answered with tasks that were not asked for: it ignored the query, so the answer is discarded."
                )
            }
            rows.found[key] = row
        }
    }
}

extension [TaskKey] {
    /// Reads records by at most `size` keys at a time; by half as many if the answer is too large, or takes the server too long.
    func inBatches(of size: Int, _ read: ([TaskKey]) async throws(Failure) -> Void) async throws(Failure) {
        var pending = stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
        pending.reverse()
        while let keys = pending.popLast() {
            do throws(Failure) {
                try await read(keys)
            } catch  where [.quota, .tooLarge].contains(error.reason) && keys.count > 1 {
                let half = keys.count / 2
                pending.append(Array(keys[half...]))
                pending.append(Array(keys[..<half]))
            }
        }
    }
}
