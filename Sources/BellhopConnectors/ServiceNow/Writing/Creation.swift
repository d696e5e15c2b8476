import BellhopCore

/// A record to create for a delivery.
struct Creation: WriteOrder {
    var table: String
    var writes: [FieldWrite]
    /// The key that identifies the record: a unique text, and the field that holds it.
    var key: FieldWrite

    init(_ delivery: Delivery) throws(Failure) {
        let arguments = try delivery.values()
        guard let table = arguments["table"]?.asString, FieldWrite.isName(table) else {
            throw .badArguments("`table` is the name of a table, such as incident.")
        }
        let field = arguments["correlation_field"]?.asString ?? "correlation_id"
        let text = arguments["correlation"]?.asString ?? "bellhop-\(delivery.id.text)"
        guard FieldWrite.isName(field), FieldWrite.refused[field] == nil else {
            throw .badArguments("`\(field)` cannot identify a record.")
        }
        // The server would run such a value as a script.
        guard !text.isEmpty, text.unicodeScalars.count <= 100, !ComparedValue.isScript(text), text == ASCII.trimmed(text),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw .badArguments(
                "`correlation` is a text of at most 100 characters on one line; this is '\(Redaction.excerpt(text, length: 40))'."
            )
        }
        self.table = table
        writes = try FieldWrite.all(
            arguments["fields"], isDisplay: arguments["display"] == true, refused: FieldWrite.refusedInNew)
        if writes.contains(where: { $0.name == field }) {
            throw .badArguments(
                "`\(field)` holds the record's key: set it with `correlation`, or choose another field with `correlation_field`."
            )
        }
        guard let key = FieldWrite(field, .string(text), isDisplay: false) else {
            throw .badArguments("`correlation` is a text.")
        }
        self.key = key
    }

    /// Requests records that have the key, or a key that differs only in case.
    var lookup: ServiceNowCall {
        .rows(
            table, "\(key.name)=\(EncodedQuery.escaped(key.value))^ORDERBYsys_created_on", ["sys_id", "number", key.name],
            limit: 10
        )
    }

    func call(notAfter: Timestamp) -> ServiceNowCall {
        .write("POST", table, writes + [key], showing: ["sys_id", "number"], notAfter: notAfter)
    }

    /// Serializes creations with the same key, so that the second finds the record of the first.
    func gate(on connection: ServiceNowConnection) -> FIFOGate? { connection.creating(key.value) }

    func work(in context: WriteContext, _ note: WriteNote) async throws(Failure) -> CreationWrite {
        var creation = self
        creation.writes = try await context.connection.labels.resolved(writes, in: table, context.session)
        return CreationWrite(creation: creation, context: context)
    }
}

extension FieldWrite {
    /// The fields that cannot be set in a new record. Its first journal entries and its class can be set.
    static let refusedInNew = refused.filter { !["comments", "work_notes", "sys_class_name"].contains($0.key) }
}

extension Creation {
    static let manifest = ActionManifest(
        kind: "create", summary: "Creates a record, exactly once, on the connection that `to` names.", receiver: .named,
        arguments: [
            Setting("to", .name, required: true, "The `servicenow` connection that creates it."),
            Setting("table", .text, required: true, "The table, such as incident."),
            Setting("fields", .map(.scalar), required: true, "Its fields, by their names in the table."),
            Setting(
                "correlation", .text,
                "The key that identifies the record: if a record has it, no other is created. By default the delivery's id."),
            Setting("correlation_field", .text, default: "correlation_id", "The field that holds the key."),
            FieldWrite.display,
        ], effect: .makes, refusedFields: FieldWrite.refusedInNew)
}

/// Creates a record. Its key shows whether it already exists.
struct CreationWrite: Write {
    static let noun = "record"
    let creation: Creation
    let context: WriteContext
    var request = WriteRequest()

    func lookUp(_ occasion: LookupOccasion) async throws(Failure) -> Lookup {
        let why: String
        do throws(Failure) {
            let reply = try await context.session.send(creation.lookup)
            switch finding(reply.rows, total: reply.total) {
            case .unprovable(let reason): why = reason
            case let look: return look
            }
        } catch  where error.reason == .forbidden {
            why = "this account may not read the table \(creation.table) (403)"
        }
        switch occasion {
        case .earlier, .unanswered, .answered: return .unprovable(why)
        case .first, .gap:
            throw Failure(
                .notWritten, .giveUp,
                "It is unknown whether \(context.place) already has the record, so none was created: \(why).")
        }
    }

    private func finding(_ rows: [JSON], total: Int?) -> Lookup {
        let (table, key) = (creation.table, creation.key)
        // A server that does not know the field drops the condition and returns other rows.
        guard rows.allSatisfy({ $0.raw(key.name)?.lowercased() == key.value.lowercased() }) else {
            return .unprovable("the table \(table) has no field `\(key.name)`: name another with `correlation_field`")
        }
        // The server ignores case; keys do not.
        let row = rows.first { $0.raw(key.name) == key.value }
        if let row, let id = row.raw("sys_id") { return .written(proof(id, row.raw("number") ?? "")) }
        if let total, total > rows.count { return .unprovable("this account may not read the table \(table)") }
        return .absent
    }

    mutating func send(notAfter: Timestamp) async throws(Failure) -> Sent {
        let write = self
        return try await request.send(creation.call(notAfter: notAfter), context.session) { reply throws(Failure) in
            .proved(try write.receipt(reply))
        }
    }

    /// Compares the record the server returned with the one requested.
    private func receipt(_ reply: ServiceNowReply) throws(Failure) -> Receipt {
        let place = context.place
        guard let id = reply.record.raw("sys_id"), !id.isEmpty else {
            throw Failure(.badAnswer, .unknownOutcome, "\(place) answered \(reply.status) without a record.")
        }
        let number = reply.record.raw("number") ?? ""
        // A journal field is always returned empty, even in the answer to a request that writes it.
        let shown = creation.writes.filter { !["comments", "work_notes"].contains($0.name) }
        let result = WriteResult(shown, reply.record) { _ in "" }
        let lost = WriteResult([creation.key], reply.record) { _ in "" }
        guard result.refused.isEmpty, lost.refused.isEmpty, lost.altered.isEmpty else {
            let fields = (result.refused + lost.refused + lost.altered).joined(separator: ", ")
            throw Failure(
                .notWritten, .giveUp,
                "\(number.isEmpty ? "The record \(id)" : number) was created in \(creation.table) on \(place), but without the values of \(fields)\(result.note). It is not created again."
            )
        }
        var proof = proof(id, number)
        proof.text += result.note
        return proof.receipt("\(reply.status)")
    }

    private func proof(_ id: String, _ number: String) -> Proof {
        Proof(number.isEmpty ? id : "\(number) (\(id))", reference: "\(context.connection.instance)/\(id)")
    }
}
