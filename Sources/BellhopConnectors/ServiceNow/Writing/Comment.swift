import BellhopCore

/// A comment requested by a delivery.
struct Comment: WriteOrder {
    enum Visibility: String, Sendable, Hashable { case `internal`, customer }

    var reference: TaskReference
    var task: TaskKey { reference.key }
    var delivery: Delivery.ID
    /// For messages.
    var number: String
    private var plain: String
    var text: CommentText
    var visibility: Visibility

    init(_ delivery: Delivery) throws(Failure) {
        guard let task = delivery.task else {
            throw Failure(.badArguments, .giveUp, "A comment needs a task, and this event has none.")
        }
        // The server accepts any text as a task's id, and might find another task.
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
        plain = text
        self.text = CommentText(text)
        self.visibility = visibility
        if self.text.isEmpty {
            throw Failure(.badArguments, .giveUp, "The comment is empty; the server accepts no empty comments.")
        }
    }

    /// The journal it belongs in.
    var element: String { visibility == .customer ? "comments" : "work_notes" }

    /// Writes it through the Task Tracker API, to the work notes.
    func post(notAfter: Timestamp) -> ServiceNowCall {
        ServiceNowCall(
            method: "POST", target: "/api/x_snc_my_work/v1/tracker/task/\(task.text)/comment",
            body: ["comment": .string(text.sent)], expecting: .data, notAfter: notAfter)
    }

    /// Writes it through the Table API, to its journal.
    func patch(table: String, notAfter: Timestamp) -> ServiceNowCall {
        ServiceNowCall(
            method: "PATCH", target: "/api/now/v2/table/\(table)/\(task.text)?sysparm_fields=sys_id",
            body: [element: .string(text.sent)], expecting: .record, notAfter: notAfter)
    }

    func work(in context: WriteContext, _ note: WriteNote) async throws(Failure) -> CommentWrite {
        var comment = self
        if context.connection.marksComments { comment.text = CommentText(plain, marker: delivery.marker) }
        return try await CommentWrite(comment, context, note)
    }
}

extension Comment {
    /// The settings of a `comment` in a rule.
    static let manifest = ActionManifest(
        kind: "comment", summary: "Writes a work note, or a comment that the caller sees, on the task.",
        receiver: .taskConnection, shorthand: "text",
        arguments: [
            Setting("text", .text, required: true, "The comment, as plain text."),
            Setting(
                "visibility", .oneOf(["internal", "customer"]), default: "internal",
                "Who can read it: only those who work on the task, or also the customer."),
        ], effect: .writes)
}

/// A comment's text: as sent, and as recognized in the journal.
struct CommentText: Sendable, Hashable {
    /// The text that is sent. The platform renders `[code]…[/code]` as HTML, so those tags are split: `[ code]`.
    let sent: String
    private let normalized: String
    private let likeness: TextLikeness
    /// The reference appended to it, if the connection marks comments. Then only the reference is proof, not a similar text.
    private let marker: String?
    /// The number of lines that look like headings of a history.
    let headings: Int

    init(_ text: String, marker: String? = nil) {
        let text = Self.neutralized(text)
        sent = marker.map { "\(text)\n\n\($0)" } ?? text
        self.marker = marker
        normalized = Self.normalized(sent)
        likeness = TextLikeness(text)
        headings = JournalHistory.headings(in: text)
    }

    var isEmpty: Bool { normalized.isEmpty }

    /// Whether a journal entry has the same text, ignoring line ends, trailing blanks, and blank lines around it.
    func matches(_ other: String) -> Bool { Self.normalized(other) == normalized }

    /// Whether a journal entry may be this text as the instance altered it: tags removed, digits masked, quotes replaced, or cut.
    func resembles(_ other: String) -> Bool {
        marker.map { other.contains($0) } ?? likeness.covers(TextLikeness(other))
    }

    private static func neutralized(_ text: String) -> String {
        var result = ""
        var rest = Substring(text)
        while let bracket = rest.firstIndex(of: "[") {
            let after = rest[rest.index(after: bracket)...]
            result += rest[...bracket]
            let word = after.first == "/" ? after.dropFirst() : after
            if ASCII.equalIgnoringCase(word.prefix(5), "code]") { result += " " }
            rest = after
        }
        return result + rest
    }

    static func normalized(_ text: String) -> String {
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }
            .map { line in
                var line = line
                while line.last?.isWhitespace == true { line = line.dropLast() }
                return line
            }
        let first = lines.firstIndex { !$0.isEmpty } ?? lines.endIndex
        let end = lines.lastIndex { !$0.isEmpty }.map { $0 + 1 } ?? first
        return lines[first..<end].joined(separator: "\n")
    }
}
