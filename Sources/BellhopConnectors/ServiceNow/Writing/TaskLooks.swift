import BellhopCore

/// Reads tasks before and after a write: one request for an attempt's task and those of upcoming deliveries.
struct TaskLooks: Sendable {
    /// What to read of a task.
    struct Question: Sendable, Hashable {
        var task: TaskKey
        /// The table to read: only records of exactly this class count, except that `task` admits all.
        var table: String
        /// Fields besides those of every record.
        var fields: [String] = []
        /// The tasks read along with it.
        var next: [TaskKey]
    }

    private struct Kept: Sendable {
        var record: TaskRecord
        var fields: Set<String>
    }

    private let ahead = ReadAhead<Kept>()

    /// A task as read since a moment, or read now together with upcoming ones. Nil if the account may not read them this way, or
    /// the answer lacks the task: then it needs its own request.
    func record(
        for question: Question, since: Timestamp = .distantPast, _ session: ServiceNowSession
    ) async throws(Failure) -> TaskRecord? {
        if let kept = ahead.value(of: question.task, since: since, at: session.clock.now),
            question.table == "task" || kept.record.table == question.table, kept.fields.isSuperset(of: question.fields)
        {
            return kept.record
        }
        return try await read(question, session)
    }

    /// Reads it now, ignoring prefetched data.
    func read(_ question: Question, _ session: ServiceNowSession) async throws(Failure) -> TaskRecord? {
        guard !question.next.isEmpty, FieldWrite.isName(question.table) else { return nil }
        let asked = [question.task] + question.next
        let call = ServiceNowCall.table(
            question.table,
            [
                ("sysparm_query", "sys_idIN" + asked.map(\.text).joined(separator: ",")),
                ("sysparm_fields", TaskRecord.paths(question.fields).joined(separator: ",")),
                ("sysparm_display_value", question.fields.isEmpty ? "false" : "all"),
                ("sysparm_exclude_reference_link", "true"), ("sysparm_limit", String(asked.count)),
                ("sysparm_no_count", "true"), ("sysparm_suppress_pagination_header", "true"),
            ], expecting: .rows)
        do throws(Failure) {
            return try await ahead.asking(at: session.clock.now) { () async throws(Failure) in
                let reply = try await session.send(call)
                guard let records = Self.records(in: reply, question, Set(asked), at: session.clock.now) else {
                    return (nil, [:])
                }
                let fields = Set(question.fields)
                return (records[question.task], records.mapValues { Kept(record: $0, fields: fields) })
            }
        } catch  where [.forbidden, .goneOrHidden, .refused, .badAnswer, .tooLarge, .quota].contains(error.reason) {
            return nil
        }
    }

    /// Drops a task that was written to.
    func forget(_ task: TaskKey) { ahead.forget(task) }

    /// Nil if it has tasks that were not requested: a server that does not understand a query returns other rows.
    private static func records(
        in reply: ServiceNowReply, _ question: Question, _ asked: Set<TaskKey>, at now: Timestamp
    ) -> [TaskKey: TaskRecord]? {
        var records: [TaskKey: TaskRecord] = [:]
        for row in reply.rows {
            guard let id = FieldValue(row["sys_id"])?.raw, let table = FieldValue(row["sys_class_name"])?.raw else { continue }
            guard asked.contains(TaskKey(id)) else { return nil }
            guard FieldWrite.isName(table), question.table == "task" || table == question.table else { continue }
            records[TaskKey(id)] = TaskRecord(table: table, values: row, serverTime: reply.serverTime, at: now)
        }
        return records
    }
}

extension RecordAction {
    /// A task, read now or by the lookup for an earlier attempt since a moment.
    func read(
        _ task: TaskReference, fields: [String] = [], _ attempt: Attempt, since: Timestamp = .distantPast
    ) async throws(Failure) -> TaskRecord {
        let question = TaskLooks.Question(
            task: task.key, table: fields.isEmpty ? "task" : task.className, fields: fields,
            next: attempt.upcomingTasks(besides: task.key))
        if let record = try await connection.looks.record(for: question, since: since, session) { return record }
        return try await TaskRecord.read(task, fields: fields, session)
    }
}
