import BellhopCore

/// Creates a record, once: each has a key from its delivery, which is searched for before anything is sent.
///
/// After an unknown outcome it is searched for again, and not sent before the server's time limit has passed, when no earlier
/// request can still be running.
struct CreateAction: RecordAction {
    static let what = "record"
    let connection: ServiceNowConnection
    let times: WriteTimes

    func proceed(_ creation: Creation, _ delivery: Delivery, _ attempt: Attempt) async throws(Failure) -> Receipt {
        // Serialized: two creations with the same key must not both find nothing.
        let gate = connection.creating(creation.key.value)
        var resolved = creation
        resolved.writes = try await connection.labels.resolved(creation.writes, in: creation.table, session)
        let creation = resolved
        return try await gate.inTurn { () async throws(Failure) in try await make(creation, note(of: delivery), attempt) }
    }

    private func make(_ creation: Creation, _ notebook: DeliveryNote, _ attempt: Attempt) async throws(Failure) -> Receipt {
        var evidence = try await notebook.evidence(at: attempt)
        switch try await look(creation) {
        case .there(let id, let number):
            await notebook.forget()
            return receipt(attempt.isFirst ? "there already" : "found created by an earlier attempt", id, number)
        case .unprovable(let why) where !evidence.isDecided:
            throw Failure(
                .notWritten, attempt.isFirst ? .giveUp : .hold,
                "It is unknown whether \(place) already has the record, so none was created: \(why)."
                    + (attempt.isFirst ? "" : " Look there, then retry or drop the delivery."))
        case .absent, .unprovable:
            try await waitOut(attempt, evidence, notebook)
        }
        if evidence.isDecided {
            evidence.isDecided = false
            try await notebook.keep(evidence.json)
        }
        let written: Written<Receipt>
        do throws(Failure) {
            written = try await session.write(creation.call(notAfter: attempt.now + times.start)) { () async throws(Failure) in
                try await found(creation, "found created before a new login")
            }
        } catch {
            let summary = "found created (\(error.reason.rawValue))"
            let receipt = try await settle(error) { () async throws(Failure) in try await found(creation, summary) }
            await notebook.forget()
            return receipt
        }
        await notebook.forget()
        switch written {
        case .found(let receipt): return receipt
        case .reply(let reply): return try confirm(creation, reply)
        }
    }

    private func found(_ creation: Creation, _ summary: String) async throws(Failure) -> Look<Receipt> {
        switch try await look(creation) {
        case .there(let id, let number): .written(receipt(summary, id, number))
        case .absent: .absent
        case .unprovable(let why): .unprovable(why)
        }
    }

    private func look(_ creation: Creation) async throws(Failure) -> Creation.Finding {
        do throws(Failure) {
            let reply = try await session.send(creation.lookup)
            return creation.finding(reply.rows, total: reply.headers["X-Total-Count"].flatMap { Int($0) })
        } catch  where error.reason == .forbidden {
            return .unprovable("this account may not read the table \(creation.table) (403)")
        }
    }

    /// Compares the record the server returned with the one requested.
    private func confirm(_ creation: Creation, _ reply: ServiceNowReply) throws(Failure) -> Receipt {
        guard let id = FieldValue(reply.record["sys_id"])?.raw, !id.isEmpty else {
            throw Failure(.badAnswer, .unknownOutcome, "\(place) answered \(reply.status) without a record.")
        }
        let number = FieldValue(reply.record["number"])?.raw ?? ""
        // Journals read as empty, even in the answer to their own write.
        let shown = creation.writes.filter { !["comments", "work_notes"].contains($0.name) }
        let result = WriteResult(shown, reply.record) { _ in "" }
        let lost = WriteResult([creation.key], reply.record) { _ in "" }
        guard result.refused.isEmpty, lost.refused.isEmpty, lost.altered.isEmpty else {
            let fields = (result.refused + lost.refused + lost.altered).joined(separator: ", ")
            throw Failure(
                .notWritten, .giveUp,
                "\(number.isEmpty ? "The record \(id)" : number) was created in \(creation.table) on \(place), but did not take \(fields)\(result.note). It is not created again."
            )
        }
        return receipt("\(reply.status)", id, number, result.note)
    }

    private func receipt(_ summary: String, _ id: String, _ number: String, _ note: String = "") -> Receipt {
        let name = number.isEmpty ? id : "\(number) (\(id))"
        return Receipt("\(summary), \(name)\(note)", reference: "\(connection.instance)/\(id)")
    }
}
