import BellhopCore

/// A change of a task's fields requested by a delivery.
struct Update: WriteOrder {
    var task: TaskReference
    var writes: [FieldWrite]
    /// The values that fields must have: one of each list.
    var expected: [(field: String, values: [JSON])] = []
    /// The fields as the event saw them, which must not have changed; nil if they may have.
    var seen: JSON.Object?
    /// When the delivery was created: for an unconditional update, a record read since then is recent enough.
    var createdAt: Timestamp

    init(_ delivery: Delivery) throws(Failure) {
        guard let task = delivery.task else { throw Failure.badArguments("An update needs a task, and this event has none.") }
        let arguments = try delivery.values()
        self.task = task
        createdAt = delivery.createdAt
        writes = try FieldWrite.all(arguments["fields"], isDisplay: arguments["display"] == true, refused: FieldWrite.refused)
        for (field, value) in arguments["expect"]?.asObject ?? [:] { expected.append((field, value.asArray ?? [value])) }
        if arguments["unless_changed"] == true {
            guard let seen = arguments["seen"]?.asObject else {
                throw Failure.badArguments("`unless_changed` needs the event's own task.")
            }
            self.seen = seen
        }
    }

    func work(in context: WriteContext, _ note: WriteNote) async throws(Failure) -> UpdateWrite {
        try await UpdateWrite(self, context, note)
    }

    /// Whether to write regardless of the task's state.
    var isUnconditional: Bool { expected.isEmpty && seen == nil }

    /// The fields needed to decide.
    var fields: [String] { writes.map(\.name) + expected.map(\.field) + (seen?.keys ?? []) }

    /// The failure if the task is not in the required state.
    func refusal(by record: TaskRecord) -> Failure? {
        let unknown = (writes.map(\.name) + expected.map(\.field)).filter { record[$0] == nil }
        if !unknown.isEmpty {
            return Failure.badArguments(
                "The record of \(task.name) (table \(record.table)) shows no field \(unknown.quotedList): there is none, or this account may not read it. Nothing was written."
            )
        }
        for (field, values) in expected {
            guard let found = record[field], !values.contains(where: found.isMeant) else { continue }
            return moved("`\(field)` is \(WriteResult.shown(found.raw)), which `expect` does not list")
        }
        let changed = (seen ?? [:]).filter { name, value in record[name].map { !$0.isMeant(by: value) } ?? false }.map(\.key)
        guard let first = changed.first, let found = record[first] else { return nil }
        return moved("`\(first)` has become \(WriteResult.shown(found.raw)) since")
    }

    private func moved(_ what: String) -> Failure {
        Failure(.movedOn, .giveUp, "\(task.name) is not as the rule saw it: \(what). Nothing was written.")
    }

    func call(_ record: TaskRecord, notAfter: Timestamp) -> ServiceNowCall {
        .write("PATCH", "\(record.table)/\(task.key.text)", writes, showing: ["sys_id", "sys_mod_count"], notAfter: notAfter)
    }
}

extension Update {
    static let manifest = ActionManifest(
        kind: "update", summary: "Sets fields of the task.", receiver: .taskConnection, shorthand: "fields",
        arguments: [
            Setting(
                "fields", .map(.scalar), required: true,
                "The fields to set, by their names in the table; an empty text clears a field."),
            Setting(
                "expect", .map(.list(.scalar)),
                "Values that fields must have, raw or label, one or a list of alternatives; otherwise nothing is written."),
            Setting(
                "unless_changed", .boolean, default: "false",
                "Whether to write nothing if a field of the source has changed since the event."),
            FieldWrite.display,
        ], effect: .writes, refusedFields: FieldWrite.refused)
}

/// Sets the fields of a task, which shows whether they are set.
///
/// After an unknown outcome it waits like every write, although setting the same values twice is harmless: the first request could
/// otherwise take effect after the update of a later delivery. If somebody else has changed one of the fields since the first attempt,
/// nothing is written.
struct UpdateWrite: Write {
    static let noun = "update"
    static let foundAtFirst = "the fields already had these values"
    private var update: Update
    private let context: WriteContext
    /// The task as read before the first request of this attempt.
    private let record: TaskRecord
    private let state: Before
    private var request = WriteRequest()

    var before: JSON? { state.json }

    init(_ update: Update, _ context: WriteContext, _ note: WriteNote) async throws(Failure) {
        // A conditional update and a retry need the task's state just before the write.
        record =
            update.isUnconditional && context.attempt.isFirst
            ? try await context.read(update.task, fields: update.fields, since: update.createdAt)
            : try await TaskRecord.read(update.task, fields: update.fields, context.session)
        self.update = update
        self.update.writes = try await context.connection.labels.resolved(
            update.writes, in: record.table, of: record, context.session)
        self.context = context
        let earlier = Before(note.before)
        state = earlier ?? Before(self.update, record)
        // While an earlier request may take effect, a refusal would let later deliveries go ahead of it.
        guard !state.shows(self.update, in: record), context.attempt.wait(for: context.times.quiet) == nil else { return }
        if let refusal = earlier?.refusal(of: self.update, by: record) ?? self.update.refusal(by: record) { throw refusal }
    }

    func lookUp(_ occasion: LookupOccasion) async throws(Failure) -> Lookup {
        switch occasion {
        case .first, .gap, .earlier: return state.shows(update, in: record) ? .written(Proof("")) : .absent
        case .unanswered, .answered:
            let record = try await TaskRecord.read(update.task, fields: update.writes.map(\.name), context.session)
            return state.shows(update, in: record) ? .written(Proof("")) : .absent
        }
    }

    mutating func send(notAfter: Timestamp) async throws(Failure) -> Sent {
        let (update, record, place) = (update, record, context.place)
        return try await request.send(update.call(record, notAfter: notAfter), context.session) { reply throws(Failure) in
            guard reply.record.raw("sys_id") == update.task.key.text else {
                throw Failure(.badAnswer, .unknownOutcome, "\(place) answered \(reply.status) with another record.")
            }
            let result = WriteResult(update.writes, reply.record) { record[$0]?.raw ?? "" }
            guard result.refused.isEmpty else {
                throw Failure(
                    .notWritten, .giveUp,
                    "\(place) answered \(reply.status), but \(update.task.name) did not accept \(result.refused.joined(separator: ", ")): "
                        + "the access rules or a rule of the instance kept it\(result.note).")
            }
            let names = update.writes.map(\.name).joined(separator: ", ")
            return .proved(Receipt("\(reply.status), set \(names)\(result.note)"))
        }
    }

    /// The task's state before the first attempt.
    struct Before: Sendable {
        var updates: String
        var values: JSON.Object

        init(_ update: Update, _ record: TaskRecord) {
            updates = record.updates
            values = JSON.Object(update.writes.map { ($0.name, .string(record[$0.name]?.raw ?? "")) })
        }

        init?(_ note: JSON?) {
            guard let note, let values = note["values"]?.asObject else { return nil }
            updates = note["updates"].textOrEmpty
            self.values = values
        }

        var json: JSON { ["updates": .string(updates), "values": .object(values)] }

        /// Whether a record has the new values. The server may write a new number in its own way, so an equal number in another form
        /// is the new value, unless the field had this text before.
        func shows(_ update: Update, in record: TaskRecord) -> Bool {
            update.writes.allSatisfy { write in
                guard let found = record[write.name] else { return false }
                return write.isExactly(found) || (write.isMet(by: found) && .string(found.raw) != values[write.name])
            }
        }

        /// The failure if a field has neither its old nor its new value, because somebody has changed it since the first attempt.
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
