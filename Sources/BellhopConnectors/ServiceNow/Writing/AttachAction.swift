import BellhopCore

/// Attaches a file to a task, once: the task's files are checked before anything is sent.
///
/// After an unknown outcome they are checked again, and nothing is sent before the server's time limit has passed.
struct AttachAction: RecordAction {
    static let what = "file"
    let connection: ServiceNowConnection
    let times: WriteTimes

    func proceed(_ file: Attachment, _ delivery: Delivery, _ attempt: Attempt) async throws(Failure) -> Receipt {
        let notebook = note(of: delivery)
        var evidence = try await notebook.evidence(at: attempt)
        let record = try await read(file.task, attempt)
        switch try await look(file, record.table, since: evidence.since ?? attempt.mayRepeat?.lowerBound) {
        case .written(let id):
            await notebook.forget()
            return Receipt("\(attempt.isFirst ? "there already" : "found attached by an earlier attempt"), \(id)", reference: id)
        case .unprovable(let why) where !attempt.isFirst && !evidence.isDecided:
            throw Failure(
                .notWritten, .hold,
                "An earlier attempt may have attached '\(file.name)', and \(why): look there, then retry or drop the delivery."
            )
        case .absent, .unprovable: break
        }
        try await waitOut(attempt, evidence, notebook)
        let start = evidence.since ?? (record.serverTime(at: connection.clock.now) ?? connection.clock.now) - times.skew
        if evidence.since == nil || evidence.isDecided {
            evidence.since = start
            evidence.isDecided = false
            try await notebook.keep(evidence.json)
        }
        return try await write(file, record.table, since: start, notAfter: attempt.now + times.start, notebook)
    }

    private func write(
        _ file: Attachment, _ table: String, since: Timestamp, notAfter: Timestamp, _ notebook: DeliveryNote
    ) async throws(Failure) -> Receipt {
        let written: Written<String>
        do throws(Failure) {
            written = try await session.write(file.call(table: table, notAfter: notAfter)) { () async throws(Failure) in
                try await look(file, table, since: since)
            }
        } catch {
            let id: String
            do throws(Failure) {
                id = try await settle(error) { () async throws(Failure) in try await look(file, table, since: since) }
            } catch {
                if error.remedy == .giveUp { await notebook.forget() }
                throw error
            }
            await notebook.forget()
            return Receipt("found attached (\(error.reason.rawValue)), \(id)", reference: id)
        }
        let reply: ServiceNowReply
        switch written {
        case .reply(let answer): reply = answer
        case .found(let id):
            await notebook.forget()
            return Receipt("found attached before a new login, \(id)", reference: id)
        }
        guard let id = FieldValue(reply.record["sys_id"])?.raw, !id.isEmpty else {
            throw Failure(.badAnswer, .unknownOutcome, "\(place) answered \(reply.status) without a file.")
        }
        await notebook.forget()
        let size = FieldValue(reply.record["size_bytes"])?.raw ?? ""
        guard size.isEmpty || size == String(file.bytes.count) else {
            throw Failure(
                .notWritten, .giveUp,
                "\(place) said \(reply.status), but '\(file.name)' at \(file.task.name) has \(size) bytes there, not \(file.bytes.count)."
            )
        }
        return Receipt("\(reply.status), '\(file.name)' \(id)", reference: id)
    }

    private func look(
        _ file: Attachment, _ table: String, since: Timestamp?
    ) async throws(Failure) -> Look<String> {
        do throws(Failure) {
            let reply = try await session.send(file.lookup(table: table))
            if let found = file.match(reply.rows, by: await session.username, since: since) { return .written(found) }
            let total = reply.headers["X-Total-Count"].flatMap { Int($0) } ?? 0
            if total <= reply.rows.count || reply.rows.count >= 100 { return .absent }
        } catch  where error.reason == .forbidden || error.reason == .goneOrHidden {}
        return .unprovable("this account may not read the files of \(file.task.name)")
    }
}
