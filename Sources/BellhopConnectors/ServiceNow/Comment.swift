import BellhopCore

/// A comment requested by a delivery.
struct Comment: WriteOrder, Hashable {
    enum Visibility: String, Sendable, Hashable { case `internal`, customer }

    var reference: TaskReference
    var task: TaskKey { reference.key }
    /// The delivery's own name.
    var delivery: Delivery.ID
    /// For messages.
    var number: String
    private var plain: String
    var text: CommentText
    var visibility: Visibility

    /// Reads a delivery. A comment that can never be sent fails at once.
    init(_ delivery: Delivery) throws(Failure) {
        guard let task = delivery.task else {
            throw Failure(.badArguments, .giveUp, "A comment needs a task, and this event has none.")
        }
        // The server accepts anything as a task's name, and might find another task.
        guard ServiceNowConnection.isSysID(task.key.text) else {
            throw Failure(.badArguments, .giveUp, "'\(Redaction.excerpt(task.key.text, length: 40))' is not a sys_id of a task.")
        }
        guard case .values(let arguments) = delivery.arguments, let text = arguments["text"]?.asString else {
            throw Failure(.badArguments, .giveUp, "A comment needs a text.")
        }
        guard let visibility = Visibility(rawValue: arguments["visibility"]?.asString ?? Visibility.internal.rawValue) else {
            throw Failure(.badArguments, .giveUp, "A comment's visibility is internal or customer.")
        }
        reference = task
        self.delivery = delivery.id
        number = task.number.isEmpty ? task.key.text : task.number
        self.plain = text
        self.text = CommentText(text)
        self.visibility = visibility
        if self.text.isEmpty {
            throw Failure(.badArguments, .giveUp, "The comment is empty; the server accepts no empty comments.")
        }
    }

    /// Appends a reference to the delivery to the text.
    mutating func mark() { text = CommentText(plain, marker: delivery.marker) }

    /// The journal it belongs in.
    var element: String {
        switch visibility {
        case .internal: "work_notes"
        case .customer: "comments"
        }
    }

    func call(table: String, notAfter: Timestamp) -> ServiceNowCall {
        switch visibility {
        case .internal:
            ServiceNowCall(
                method: "POST", target: "/api/x_snc_my_work/v1/tracker/task/\(task.text)/comment",
                body: ["comment": .string(text.sent)], expecting: .data, notAfter: notAfter)
        case .customer:
            patch(table: table, notAfter: notAfter)
        }
    }

    /// Writes it through the Table API, to its journal.
    func patch(table: String, notAfter: Timestamp) -> ServiceNowCall {
        ServiceNowCall(
            method: "PATCH", target: "/api/now/v2/table/\(table)/\(task.text)?sysparm_fields=sys_id",
            body: [element: .string(text.sent)], expecting: .record, notAfter: notAfter)
    }

    /// - Parameter id: the journal or history entry that proves it.
    func receipt(_ summary: String, _ id: String?) -> Receipt {
        let name = visibility == .internal ? "work note" : "comment"
        let shown = id.flatMap { ServiceNowConnection.isSysID($0) ? " \($0)" : nil } ?? ""
        return Receipt("\(summary), \(name)\(shown)", reference: id)
    }
}

extension CommentAction {
    /// The settings of a `comment` in a rule.
    static let manifest = ActionManifest(
        kind: "comment", summary: "Writes a work note, or a comment that the caller sees, on the task.",
        receiver: .taskConnection,
        shorthand: "text",
        arguments: [
            Setting("text", .text, required: true, "The comment, as plain text."),
            Setting(
                "visibility", .oneOf(["internal", "customer"]), default: "internal",
                "Who can read it: only those who work on the task, or also the customer."),
        ], effect: .writes)
}
