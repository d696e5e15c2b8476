import BellhopCore

/// A task's current state, read from the table of its class.
struct TaskRecord: Sendable {
    /// The table of its class, from the record itself: a label is not a table name.
    var table: String
    var values: JSON
    /// The server's and the local time of reading it.
    var serverTime: Timestamp?
    var at: Timestamp

    /// The server's time at this local time.
    func serverTime(at now: Timestamp) -> Timestamp? { serverTime.map { $0 + (now - at) } }

    /// The fields to read: those of every record, and these.
    static func paths(_ fields: [String]) -> [String] {
        var seen: Set<String> = []
        return (["sys_id", "number", "sys_class_name", "sys_mod_count"] + fields).filter { seen.insert($0).inserted }
    }

    subscript(field: String) -> FieldValue? { FieldValue(values[field]) }

    /// How often it was updated.
    var updates: String { self["sys_mod_count"]?.raw ?? "" }

    /// - Parameter fields: fields besides those of every record; those the table does not have are missing.
    static func read(
        _ task: TaskReference, fields: [String], _ session: ServiceNowSession
    ) async throws(Failure) -> TaskRecord {
        guard ServiceNowConnection.isSysID(task.key.text) else {
            throw Failure(.badArguments, .giveUp, "'\(Redaction.excerpt(task.key.text, length: 40))' is not a sys_id of a task.")
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
                    "The task \(task.name) no longer exists or is hidden from this account; nothing was written. (\(error.message))"
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
        guard FieldValue(reply.record["sys_id"])?.raw == task.key.text else {
            throw Failure(
                .badAnswer, .retry(after: nil),
                "\(session.base.place) answered with another task than the requested one.")
        }
        return TaskRecord(table: table, values: reply.record, serverTime: reply.serverTime, at: session.clock.now)
    }
}

extension TaskReference {
    /// Its name in messages.
    var name: String { number.isEmpty ? key.text : number }
}
