import BellhopCore

/// Sets fields of a task, once: the task is read first, and the answer is compared with what was sent.
///
/// A repeated update would be harmless if nobody else wrote: after an unknown outcome the task is read again, and a field that
/// somebody has changed since is left alone.
struct UpdateAction: RecordAction {
    static let what = "update"
    let connection: ServiceNowConnection
    let times: WriteTimes

    func proceed(_ update: Update, _ delivery: Delivery, _ attempt: Attempt) async throws(Failure) -> Receipt {
        let notebook = note(of: delivery)
        let earlier = attempt.isFirst ? nil : Before(try await notebook.read())
        // If the write depends on the task's state, or it was written to before, read it just before writing.
        let record =
            update.isUnconditional && attempt.isFirst
            ? try await read(update.task, fields: update.fields, attempt, since: delivery.createdAt)
            : try await TaskRecord.read(update.task, fields: update.fields, session)
        var update = update
        update.writes = try await connection.labels.resolved(update.writes, in: record.table, of: record, session)
        if update.isMet(by: record) {
            await notebook.forget()
            return Receipt(attempt.isFirst ? "it was already so" : "found written by an earlier attempt")
        }
        if let refusal = update.refusal(by: record) ?? earlier?.refusal(of: update, by: record) {
            await notebook.forget()
            throw refusal
        }
        // Stores the state before the first write, whatever its outcome.
        if earlier == nil { try await notebook.keep(Before(update, record).json) }
        return try await write(update, record, notAfter: attempt.now + times.start, notebook)
    }

    private func write(
        _ update: Update, _ record: TaskRecord, notAfter: Timestamp, _ notebook: DeliveryNote
    ) async throws(Failure) -> Receipt {
        let written: Written<Void>
        do throws(Failure) {
            written = try await session.write(update.call(record, notAfter: notAfter)) { () async throws(Failure) in
                try await look(update)
            }
        } catch {
            do throws(Failure) {
                try await settle(error) { () async throws(Failure) in try await look(update) }
            } catch {
                if error.remedy == .giveUp { await notebook.forget() }
                throw error
            }
            await notebook.forget()
            return Receipt("found written (\(error.reason.rawValue))")
        }
        await notebook.forget()
        guard case .reply(let reply) = written else { return Receipt("found written before a new login") }
        guard FieldValue(reply.record["sys_id"])?.raw == update.task.key.text else {
            throw Failure(.badAnswer, .unknownOutcome, "\(place) answered \(reply.status) with another record.")
        }
        let result = WriteResult(update.writes, reply.record) { record[$0]?.raw ?? "" }
        if result.refused.isEmpty { return Receipt("\(reply.status), \(names(update))\(result.note)") }
        throw Failure(
            .notWritten, .giveUp,
            "\(place) said \(reply.status), but \(update.task.name) did not take \(result.refused.joined(separator: ", ")): "
                + "the access rules or a rule of the instance kept it\(result.note).")
    }

    private func names(_ update: Update) -> String { "set " + update.writes.map(\.name).joined(separator: ", ") }

    private func look(_ update: Update) async throws(Failure) -> Look<Void> {
        let record = try await TaskRecord.read(update.task, fields: update.writes.map(\.name), session)
        return update.isMet(by: record) ? .written(()) : .absent
    }

    /// The task's state before the first attempt.
    private struct Before: Sendable {
        var updates: String
        var values: JSON.Object

        init(_ update: Update, _ record: TaskRecord) {
            updates = record.updates
            values = JSON.Object(update.writes.map { ($0.name, .string(record[$0.name]?.raw ?? "")) })
        }

        init?(_ note: JSON?) {
            guard let note, let values = note["values"]?.asObject else { return nil }
            updates = note["updates"]?.asString ?? ""
            self.values = values
        }

        var json: JSON { ["updates": .string(updates), "values": .object(values)] }

        /// Why it is not rewritten: a field has neither its old nor its new value, so somebody has changed it since.
        func refusal(of update: Update, by record: TaskRecord) -> Failure? {
            if !updates.isEmpty, record.updates == updates { return nil }
            let other = update.writes.first { write in
                guard let found = record[write.name] else { return false }
                return !write.isMet(by: found) && .string(found.raw) != values[write.name]
            }
            guard let other else { return nil }
            return Failure(
                .movedOn, .giveUp,
                "`\(other.name)` of \(update.task.name) was changed by somebody since the first attempt, which may have written it: it is left unchanged."
            )
        }
    }
}
