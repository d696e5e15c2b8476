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
        guard let task = delivery.task else { throw Failure.badArguments("A comment needs a task, and this event has none.") }
        // The server accepts any text as a task's id, and might find another task.
        guard ServiceNowConnection.isSysID(task.key.text) else {
            throw Failure.badArguments("'\(Redaction.excerpt(task.key.text, length: 40))' is not a sys_id of a task.")
        }
        guard case .values(let arguments) = delivery.arguments, let text = arguments["text"]?.asString else {
            throw Failure.badArguments("A comment needs a text.")
        }
        guard let visibility = Visibility(rawValue: arguments["visibility"]?.asString ?? Visibility.internal.rawValue) else {
            throw Failure.badArguments("A comment's visibility is internal or customer.")
        }
        reference = task
        self.delivery = delivery.id
        number = task.number.isEmpty ? task.key.text : task.number
        plain = text
        self.text = CommentText(text)
        self.visibility = visibility
        if self.text.isEmpty { throw Failure.badArguments("The comment is empty; the server accepts no empty comments.") }
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
    func resembles(_ other: String) -> Bool { marker.map { other.contains($0) } ?? likeness.covers(TextLikeness(other)) }

    private static func neutralized(_ text: String) -> String {
        var result = ""
        // By scalars: a bracket before an accent is one character with it.
        var rest = Substring(text).unicodeScalars
        while let bracket = rest.firstIndex(of: "[") {
            let after = rest[rest.index(after: bracket)...]
            result += Substring(rest[...bracket])
            let word = after.first == "/" ? after.dropFirst() : after
            if ASCII.equalIgnoringCase(Substring(word.prefix(5)), "code]") { result += " " }
            rest = after
        }
        return result + Substring(rest)
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

/// Writes a comment. Internal comments go through the Task Tracker API if it exists and accepts them; all others through the
/// Table API.
///
/// The task is read first, because the tracker answers 201 for an unknown one. A 201 does not prove that the comment was written:
/// access rules may have discarded the text, so the journal is read afterwards.
struct CommentWrite: Write {
    static let noun = "comment"
    private let comment: Comment
    private let context: WriteContext
    private let journal: Journal
    private let search: Journal.Search
    /// The task's table, if known.
    private let table: String
    /// The server's time before the first possible request.
    let time: Timestamp?
    /// How far the server's clock is ahead of ours.
    private let ahead: Duration
    /// The users as whom it may have been written, including the present one.
    private let users: [String]
    private var request = WriteRequest()
    /// Whether to write to the record itself, because the comment is for the customer or the tracker refused it.
    private var avoidsTracker: Bool

    var before: JSON? {
        var members: JSON.Object = ["users": .array(users.map { .string($0) })]
        members["history"] = search.history?.json
        return .object(members)
    }

    /// Checks that the task exists. If the account may not read it, the tracker's list decides.
    init(_ comment: Comment, _ context: WriteContext, _ note: WriteNote) async throws(Failure) {
        let (connection, attempt, times) = (context.connection, context.attempt, context.times)
        var table = "task"
        var serverTime: Timestamp?
        var history = JournalHistory.Known(json: note.before?["history"])
        let isFirst = note.since == nil && attempt.lastUncertain == nil
        let looksAtHistory = isFirst ? connection.journalAccess.now != .open : connection.journalAccess.now == .closed
        do throws(Failure) {
            let record = try await context.read(
                comment.reference, fields: looksAtHistory ? [comment.element] + TaskHistories.times : [])
            table = record.table
            serverTime = record.serverTime(at: connection.clock.now)
            // Entries that the history shows before the first request are not this comment.
            if isFirst, looksAtHistory { history = record[comment.element]?.label.map { JournalHistory.Known($0) } }
        } catch  where error.reason == .forbidden {
            serverTime = try await Self.checkList(for: comment, context)
        } catch  where error.reason == .goneOrHidden {
            // A task that this account may not read looks like a missing one (404).
            let gone = error
            do throws(Failure) {
                serverTime = try await Self.checkList(for: comment, context)
            } catch {
                switch error.remedy {
                case .retry, .rest: throw error
                case .giveUp, .unknownOutcome, .hold, .pauseConnection, .pauseReceiver: throw gone
                }
            }
        }
        let user = await context.session.username
        let formerUsers = (note.before?["users"]?.asArray ?? []).compactMap(\.asString).filter { $0 != user }
        let now = connection.clock.now
        var since = note.since ?? serverTime ?? now
        if note.since == nil, let began = attempt.firstStarted {
            // Computed with the local clock, which may have been corrected since.
            since = since - max(now - began, .zero) - times.correction
        }
        search = Journal.Search(
            task: comment.task, table: table, element: comment.element, text: comment.text,
            notBefore: since - times.skew, history: history, formerUsers: formerUsers,
            claimed: attempt.othersReferences, delivery: comment.delivery.text,
            listed: table == "task" ? comment.reference.className : table, upcoming: attempt.upcomingTasks(besides: comment.task))
        journal = Journal(connection: connection, session: context.session)
        self.comment = comment
        self.context = context
        self.table = table
        users = formerUsers + [user].compactMap(\.self)
        time = since
        ahead = (serverTime ?? now) - now
        avoidsTracker = comment.visibility == .customer
    }

    private static func checkList(for comment: Comment, _ context: WriteContext) async throws(Failure) -> Timestamp? {
        let reply = try await context.session.send(.tasks)
        guard try reply.tasks(from: context.place).entries.contains(where: { $0.key == comment.task }) else {
            throw Failure(
                .goneOrHidden, .giveUp,
                "The task \(comment.number) is no longer among the active tasks of \(context.connection.username), "
                    + "and this account may not read others; no comment is sent.")
        }
        return reply.serverTime
    }

    func lookUp(_ occasion: LookupOccasion) async throws(Failure) -> Lookup {
        var search = search
        switch occasion {
        case .first: return .absent
        case .gap(let span):
            search.history = nil
            if context.attempt.replayOf != nil { (search.claimed, search.countsEntriesOfOthers) = ([], true) }
            search.notBefore = span.lowerBound + ahead - context.times.skew
            search.notAfter = span.upperBound + ahead + context.times.skew
        case .earlier(let readSince): search.since = readSince
        case .unanswered, .answered: search.formerUsers = []  // this attempt's request was sent as the present user
        }
        let found = try await journal.lookUp(for: search)
        // The server says that the comment was written, and this is the newest entry.
        if occasion == .answered, case .altered(let proof, _) = found, let id = proof.reference {
            let isOurs = context.connection.claims.take(id, for: search.delivery)
            return isOurs ? .written(Proof("\(proof.text), with another text than was sent", reference: id)) : .absent
        }
        return found
    }

    mutating func send(notAfter: Timestamp) async throws(Failure) -> Sent {
        let call = avoidsTracker ? comment.patch(table: table, notAfter: notAfter) : comment.post(notAfter: notAfter)
        let missing =
            "the comment is not in the journal of \(comment.number): the access rules probably do not let "
            + "\(context.connection.username) write \(comment.element)"
        do throws(Failure) {
            return try await request.send(call, context.session) { .claimed(String($0.status), ifAbsent: missing) }
        } catch  where !avoidsTracker && (error.reason == .apiMissing || error.reason == .forbidden) {
            avoidsTracker = true
            request = WriteRequest()
            // An API that is not installed wrote nothing. After a refusal it is unclear: a proxy may have sent it.
            return error.reason == .apiMissing ? .notTaken : .unclear(error)
        }
    }
}
