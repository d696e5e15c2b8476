import BellhopCore
import Synchronization

/// A task's current state, read from the table of its class.
struct TaskRecord: Sendable {
    /// The table of its class, according to the record itself.
    var table: String
    var values: JSON
    /// The server's time when the record was read.
    var serverTime: Timestamp?
    /// The local time when the record was read.
    var at: Timestamp

    func serverTime(at now: Timestamp) -> Timestamp? { serverTime.map { $0 + (now - at) } }

    /// The fields to read: those of every record, and these.
    static func paths(_ fields: [String]) -> [String] {
        (["sys_id", "number", "sys_class_name", "sys_mod_count"] + fields).unique()
    }

    subscript(field: String) -> FieldValue? { FieldValue(values[field]) }

    /// The number of its updates, as the server counts them.
    var updates: String { self["sys_mod_count"]?.raw ?? "" }

    /// - Parameter fields: fields besides those of every record; one that the table does not have is missing from the result.
    static func read(_ task: TaskReference, fields: [String], _ session: ServiceNowSession) async throws(Failure) -> TaskRecord {
        guard ServiceNowConnection.isSysID(task.key.text) else {
            throw Failure.badArguments("'\(Redaction.excerpt(task.key.text, length: 40))' is not a sys_id of a task.")
        }
        var table = FieldWrite.isName(task.className) ? task.className : "task"
        var seen: Set<String> = []
        while true {
            seen.insert(table)
            var record: TaskRecord
            do throws(Failure) {
                record = try await read(task, in: table, fields, session)
            } catch  where (error.reason == .goneOrHidden || error.reason == .refused) && !seen.contains("task") {
                table = "task"  // its class may have changed
                continue
            } catch  where error.reason == .goneOrHidden {
                throw Failure(
                    .goneOrHidden, .giveUp,
                    "The task \(task.name) no longer exists or is hidden from this account; nothing is written. (\(error.message))"
                )
            }
            let own = record["sys_class_name"]?.raw ?? ""
            if own == table || !FieldWrite.isName(own) || seen.contains(own) { return record }
            table = own
        }
    }

    private static func read(
        _ task: TaskReference, in table: String, _ fields: [String], _ session: ServiceNowSession
    ) async throws(Failure) -> TaskRecord {
        let reply = try await session.send(
            .table(
                "\(table)/\(task.key.text)",
                [
                    ("sysparm_fields", paths(fields).joined(separator: ",")), ("sysparm_display_value", "all"),
                    ("sysparm_exclude_reference_link", "true"),
                ], expecting: .record))
        guard reply.record.raw("sys_id") == task.key.text else {
            throw Failure.badAnswer("\(session.base.place) answered with another task than the requested one.")
        }
        return TaskRecord(table: table, values: reply.record, serverTime: reply.serverTime, at: session.clock.now)
    }
}

extension TaskReference {
    var name: String { number.isEmpty ? key.text : number }
}

/// Reads tasks before and after a write: one request for an attempt's task and those of upcoming deliveries.
struct TaskPrefetch: Sendable {
    struct Query: Sendable, Hashable {
        var task: TaskKey
        /// The table to read. Only records of exactly this class count; with `task`, those of all classes.
        var table: String
        /// Fields besides those of every record.
        var fields: [String] = []
        /// The upcoming tasks to read in the same request.
        var upcoming: [TaskKey]
    }

    private struct Kept: Sendable {
        var record: TaskRecord
        var fields: Set<String>
    }

    private let ahead = ReadAhead<Kept>()

    /// A task, prefetched since a moment or read now together with upcoming tasks. Nil if the account may not read several
    /// tasks at once or the answer lacks the task: then it needs its own request.
    func record(
        for query: Query, since: Timestamp = .distantPast, _ session: ServiceNowSession
    ) async throws(Failure) -> TaskRecord? {
        if let kept = ahead.value(of: query.task, since: since, at: session.clock.now),
            query.table == "task" || kept.record.table == query.table, kept.fields.isSuperset(of: query.fields)
        {
            return kept.record
        }
        return try await read(query, session)
    }

    /// Reads a task now, ignoring prefetched data.
    func read(_ query: Query, _ session: ServiceNowSession) async throws(Failure) -> TaskRecord? {
        guard !query.upcoming.isEmpty, FieldWrite.isName(query.table) else { return nil }
        let asked = [query.task] + query.upcoming
        let call = ServiceNowCall.records(
            asked, of: query.table, TaskRecord.paths(query.fields), display: query.fields.isEmpty ? "false" : "all")
        do throws(Failure) {
            return try await ahead.fetch(at: session.clock.now) { () async throws(Failure) in
                let reply = try await session.send(call)
                guard let records = Self.records(in: reply, query, Set(asked), at: session.clock.now) else { return (nil, [:]) }
                let fields = Set(query.fields)
                return (records[query.task], records.mapValues { Kept(record: $0, fields: fields) })
            }
        } catch  where [.forbidden, .goneOrHidden, .refused, .badAnswer, .tooLarge, .quota].contains(error.reason) {
            return nil
        }
    }

    func forget(_ task: TaskKey) { ahead.forget(task) }

    /// The requested records in an answer; nil if it has others, because then the server ignored the query.
    private static func records(
        in reply: ServiceNowReply, _ query: Query, _ asked: Set<TaskKey>, at now: Timestamp
    ) -> [TaskKey: TaskRecord]? {
        var records: [TaskKey: TaskRecord] = [:]
        for row in reply.rows {
            guard let id = row.raw("sys_id"), let table = row.raw("sys_class_name") else { continue }
            guard asked.contains(TaskKey(id)) else { return nil }
            guard FieldWrite.isName(table), query.table == "task" || table == query.table else { continue }
            records[TaskKey(id)] = TaskRecord(table: table, values: row, serverTime: reply.serverTime, at: now)
        }
        return records
    }
}

/// Prefetched data of the tasks of upcoming deliveries, read together with the data of an attempt's task. It is valid for a short
/// time, or until its task is written to.
///
/// A class over a lock, because the attempts of a connection share the data.
final class ReadAhead<Value: Sendable>: Sendable {
    private struct State {
        var kept: [TaskKey: (value: Value, asked: Timestamp)] = [:]
        /// The requests in progress, each with the tasks written to in the meantime.
        var requests: [Int: Set<TaskKey>] = [:]
        var latest = 0
    }

    private let state = Mutex(State())
    /// How long prefetched data is valid.
    static var life: Duration { .seconds(30) }

    /// The data of a task, if it was requested at or after a moment.
    func value(of task: TaskKey, since: Timestamp, at now: Timestamp) -> Value? {
        state.withLock { state in
            state.kept = state.kept.filter { $0.value.asked <= now && now - $0.value.asked < Self.life }
            return state.kept[task].flatMap { $0.asked >= since ? $0.value : nil }
        }
    }

    /// Sends the request, and keeps the data of tasks that were not written to in the meantime.
    func fetch<Answer: Sendable>(
        at now: Timestamp, _ ask: () async throws(Failure) -> (Answer, [TaskKey: Value])
    ) async throws(Failure) -> Answer {
        let request = state.withLock { state in
            state.latest += 1
            state.requests[state.latest] = []
            return state.latest
        }
        defer { state.withLock { $0.requests[request] = nil } }
        let (answer, values) = try await ask()
        state.withLock { state in
            let written = state.requests[request] ?? []
            for (task, value) in values where !written.contains(task) { state.kept[task] = (value, now) }
        }
        return answer
    }

    func forget(_ task: TaskKey) {
        state.withLock { state in
            state.kept[task] = nil
            for request in state.requests.keys { state.requests[request]?.insert(task) }
        }
    }
}

extension Attempt {
    /// The tasks of the receiver's next deliveries, except this attempt's.
    func upcomingTasks(besides task: TaskKey) -> [TaskKey] {
        var seen: Set<TaskKey> = [task]
        return upcoming.compactMap { $0.split(separator: "/").last.map { TaskKey(String($0)) } }
            .filter { ServiceNowConnection.isSysID($0.text) && seen.insert($0).inserted }
    }
}
