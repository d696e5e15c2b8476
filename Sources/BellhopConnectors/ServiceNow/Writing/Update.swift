import BellhopCore

/// A change of a task's fields requested by a delivery.
struct Update: WriteOrder {
    var task: TaskReference
    var writes: [FieldWrite]
    /// Required values: one of each list.
    var expected: [(field: String, values: [JSON])] = []
    /// The fields as in the event; nil if they do not matter.
    var seen: JSON.Object?

    init(_ delivery: Delivery) throws(Failure) {
        guard let task = delivery.task else {
            throw Failure(.badArguments, .giveUp, "An update needs a task, and this event has none.")
        }
        guard case .values(let arguments) = delivery.arguments else {
            throw Failure(.badArguments, .giveUp, "This delivery holds no fields; it was made by another version of Bellhop.")
        }
        self.task = task
        writes = try FieldWrite.all(
            arguments["fields"], isDisplay: arguments["display"] == true, refused: FieldWrite.refused)
        for (field, value) in arguments["expect"]?.asObject ?? [:] { expected.append((field, value.asArray ?? [value])) }
        if arguments["unless_changed"] == true {
            guard let seen = arguments["seen"]?.asObject else {
                throw Failure(.badArguments, .giveUp, "`unless_changed` needs the event's own task.")
            }
            self.seen = seen
        }
    }

    /// Whether to write regardless of the task's state.
    var isUnconditional: Bool { expected.isEmpty && seen == nil }

    /// The fields needed to decide.
    var fields: [String] { writes.map(\.name) + expected.map(\.field) + (seen?.keys ?? []) }

    /// Why nothing is written; nil if the task is in the required state.
    func refusal(by record: TaskRecord) -> Failure? {
        let unknown = (writes.map(\.name) + expected.map(\.field)).filter { record[$0] == nil }
        if !unknown.isEmpty {
            let names = unknown.map { "`\($0)`" }.joined(separator: ", ")
            return Failure(
                .badArguments, .giveUp,
                "The record of \(task.name) (table \(record.table)) shows no field \(names): there is none, or this account may not read it. Nothing was written."
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

    func isMet(by record: TaskRecord) -> Bool {
        writes.allSatisfy { write in record[write.name].map(write.isMet) ?? false }
    }

    func call(_ record: TaskRecord, notAfter: Timestamp) -> ServiceNowCall {
        .write(
            "PATCH", "\(record.table)/\(task.key.text)", writes, showing: ["sys_id", "sys_mod_count"], notAfter: notAfter)
    }
}

extension UpdateAction {
    /// The settings of an `update` in a rule.
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
            Setting(
                "display", .boolean, default: "false",
                "Whether the values are display values (a choice's label, a person's name) instead of database values."),
        ], effect: .writes, refusedFields: FieldWrite.refused)
}
