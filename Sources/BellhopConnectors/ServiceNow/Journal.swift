import BellhopCore

/// Looks for a comment in a task's journal.
struct Journal: Sendable {
    /// What a look told.
    enum Finding: Sendable, Hashable {
        /// It is there; the entry's sys_id, where the journal itself could be read.
        case written(String?)
        /// The journal can be read, and it is not there.
        case absent
        /// The account cannot see the journal: nothing is proved either way.
        case unprovable
    }

    /// What is looked for.
    struct Search: Sendable {
        var task: TaskKey
        /// The table of its class.
        var table: String
        /// `work_notes` or `comments`.
        var element: String
        var text: CommentText
        /// Not written before this moment, by the server's clock.
        var notBefore: Timestamp
        /// Entries that are known to be somebody else's deliveries.
        var claimed: Set<String>
    }

    var session: ServiceNowSession
    /// How many of our own newest entries are read.
    private static let depth = 50

    func look(for search: Search) async throws(Failure) -> Finding {
        let query =
            "element_id=\(search.task.text)^element=\(search.element)^sys_created_by=javascript:gs.getUserName()^ORDERBYDESCsys_created_on"
        let (rows, total) = try await entries(query, limit: Self.depth)
        let fitting = rows.filter { row in
            guard let id = row["sys_id"]?.asString, !search.claimed.contains(id), row["element"]?.asString == search.element,
                row["element_id"]?.asString == search.task.text
            else { return false }
            let time = row["sys_created_on"]?.asString.flatMap { Timestamp(serviceNow: $0) }
            return search.text.matches(row["value"]?.asString ?? "") && time.map { $0 >= search.notBefore } ?? false
        }
        if let oldest = fitting.last { return .written(oldest["sys_id"]?.asString) }
        // The total counts before the access rules: so many there are, seen or unseen.
        if let total {
            if total <= rows.count || rows.count == Self.depth { return .absent }
        } else if !rows.isEmpty {
            return .absent
        }
        if total == nil, try await canRead(search.element) { return .absent }
        return try await lookAtTask(for: search)
    }

    /// The rows of a query and how many there are in all; no rows and no number where the account may not ask.
    private func entries(_ query: String, limit: Int) async throws(Failure) -> ([JSON], Int?) {
        let call = ServiceNowCall.table(
            "sys_journal_field",
            [
                ("sysparm_query", query), ("sysparm_fields", "sys_id,element_id,element,value,sys_created_on"),
                ("sysparm_limit", String(limit)), ("sysparm_suppress_pagination_header", "true"),
            ], expecting: .rows)
        do throws(Failure) {
            let reply = try await session.send(call)
            return (reply.rows, reply.headers["X-Total-Count"].flatMap { Int($0) })
        } catch  where error.reason == .forbidden || error.reason == .goneOrHidden {
            return ([], nil)
        }
    }

    /// Whether any entry of our own, of any task, can be read: then the absence of one means something.
    private func canRead(_ element: String) async throws(Failure) -> Bool {
        try await !entries("element=\(element)^sys_created_by=javascript:gs.getUserName()", limit: 1).0.isEmpty
    }

    /// The second way: the history that the task's own field shows, newest first. Its times are in the user's zone and format: one that can
    /// be read only rules out what is older in every zone. An entry with the text that somebody else seems to have written proves nothing:
    /// names are as people read them, and two may have one.
    private func lookAtTask(for search: Search) async throws(Failure) -> Finding {
        let call = ServiceNowCall.table(
            "\(search.table)/\(search.task.text)", [("sysparm_display_value", "all"), ("sysparm_fields", "comments,work_notes")],
            expecting: .record)
        let history: String
        do throws(Failure) {
            history = FieldValue(try await session.send(call).record[search.element])?.label ?? ""
        } catch  where error.reason == .forbidden || error.reason == .goneOrHidden {
            return .unprovable
        }
        if history.isEmpty { return .unprovable }
        let oldest = search.notBefore - .seconds(12 * 3600)  // the clocks furthest behind UTC
        let fitting = Self.entries(of: history).filter { entry in
            search.text.matches(entry.text) && entry.time.map { $0 >= oldest } ?? true
        }
        if fitting.isEmpty { return .absent }
        let user = await session.user
        return fitting.contains { Self.isBy(user, $0) } ? .written(nil) : .unprovable
    }

    /// Whether a user may have written an entry: where either has no name, nothing says otherwise.
    private static func isBy(_ user: ServiceNowUser?, _ entry: Entry) -> Bool {
        guard let user, !user.name.isEmpty, !entry.author.isEmpty else { return true }
        return [user.name, user.username].contains { ASCII.lowercased(ASCII.trimmed($0)) == ASCII.lowercased(entry.author) }
    }

    /// An entry of a history, under its heading.
    struct Entry: Sendable, Hashable {
        var heading: String
        /// In the user's zone; nil in a format that is not the database's.
        var time: Timestamp?
        /// As people read the name.
        var author: String
        var text: String
    }

    /// The entries of a history: each follows a line such as `2022-11-21 22:50:34 - System Administrator (Additional comments)`.
    static func entries(of history: String) -> [Entry] {
        var entries: [(heading: Substring, lines: [Substring])] = []
        for line in history.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r\n" }) {
            if line.last == ")", line.first?.isNumber == true, line.contains(" - "), line.contains("(") {
                entries.append((line, []))
            } else if !entries.isEmpty {
                entries[entries.count - 1].lines.append(line)
            }
        }
        return entries.map { heading, lines in
            let named = heading.firstRange(of: " - ").map { heading[$0.upperBound...] } ?? ""
            let author = named.lastIndex(of: "(").map { ASCII.trimmed(String(named[..<$0])) } ?? ""
            return Entry(
                heading: String(heading), time: Timestamp(serviceNow: heading.prefix(19)), author: String(author),
                text: lines.reversed().drop { $0.isEmpty }.reversed().joined(separator: "\n"))
        }
    }
}
