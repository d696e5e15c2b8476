import BellhopCore

/// Reads the histories that tasks show of their journals, where the journals' own table cannot be read.
///
/// A history has no ids and no time in UTC: an entry is known again by its heading and text, and its time is reckoned from a time of the
/// same row that comes both ways.
struct TaskHistories: Sendable {
    let kinds: [String]
    let table: String
    let connection: ServiceNowConnection

    private static let batch = 40

    /// What was written since a moment on those of these tasks that were touched since.
    func entries(of keys: [TaskKey], since: Timestamp) async throws(Failure) -> ([TaskComment], [String]) {
        var comments: [TaskComment] = []
        var isUnreadable = false
        for start in stride(from: 0, to: keys.count, by: Self.batch) {
            let some = keys[start..<min(start + Self.batch, keys.count)]
            let query = EncodedQuery(
                .init("sys_id", .isOneOf, some.map(\.text).joined(separator: ",")),
                .init("sys_updated_on", .atLeast, since.serviceNow))
            let ask = TableAsk(
                session: connection.reading, table: table, paths: ["sys_id", "sys_updated_on"] + kinds, display: .both)
            for row in try await ask.page(query, limit: some.count).list {
                guard let id = FieldValue(row["sys_id"])?.raw, some.contains(TaskKey(id)) else { continue }
                guard let found = entries(of: TaskKey(id), row, since: since) else {
                    isUnreadable = true
                    continue
                }
                comments += found
            }
        }
        var notices = [
            "The account \(connection.username) may not read the journal's table (sys_journal_field), so comments are read from the tasks' own histories: their authors are display names."
        ]
        if isUnreadable {
            notices.append(
                "The times in the histories of tasks cannot be read, so their comments are not told: set the date format of \(connection.username) to yyyy-MM-dd HH:mm:ss."
            )
        }
        return (comments, notices)
    }

    /// Nil when the times of the history cannot be reckoned.
    private func entries(of task: TaskKey, _ row: JSON, since: Timestamp) -> [TaskComment]? {
        var comments: [TaskComment] = []
        let stamp = FieldValue(row["sys_updated_on"])
        for kind in kinds {
            let history = FieldValue(row[kind])?.label ?? ""
            if history.isEmpty { continue }
            guard let utc = stamp.flatMap({ Timestamp(serviceNow: $0.raw) }),
                let local = stamp?.label.flatMap({ Timestamp(serviceNow: $0) })
            else { return nil }
            for entry in Journal.entries(of: history) {
                guard let shown = entry.time else { return nil }
                let time = shown - (local - utc)
                guard time >= since else { break }
                let id = Fingerprint.of("history", task.text, kind, entry.heading, entry.text).hex
                // Who wrote it is a name that several may have: whether it is ours the text tells.
                comments.append(
                    TaskComment(
                        id: id, task: task, text: entry.text, author: entry.author, kind: kind, time: time,
                        isByOurUser: true))
            }
        }
        return comments
    }
}
