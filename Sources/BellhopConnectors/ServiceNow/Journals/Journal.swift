import BellhopCore
import Synchronization

/// Looks for a comment in a task's journal or, if the account may not read it, in the history that the task shows.
struct Journal: Sendable {
    /// A comment to look for.
    struct Search: Sendable {
        var task: TaskKey
        /// The table of the task's class.
        var table: String
        /// `work_notes` or `comments`.
        var element: String
        var text: CommentText
        /// The earliest time at which it can have been written, by the server's clock.
        var notBefore: Timestamp
        /// The latest time at which it can have been written.
        var notAfter = Timestamp.distantFuture
        /// The task's history before the first request, if it was read.
        var history: JournalHistory.Known?
        /// The other users as whom earlier attempts may have written it, because the connection has another account since.
        var formerUsers: [String] = []
        /// Entries known to belong to other deliveries.
        var claimed: Set<String>
        /// Whether an entry that proved another delivery proves this one too, because it is a replay.
        var countsEntriesOfOthers = false
        /// The delivery's id, which claims the entry that proves it.
        var delivery: String
        /// The table used to read the task and those of the next deliveries.
        var listed: String
        var upcoming: [TaskKey] = []
        /// Prefetched data counts if it was read since this moment; nil to ignore prefetched data.
        var since: Timestamp?

        /// A journal or history entry as proof.
        func proof(_ id: String) -> Proof {
            let name = element == "work_notes" ? "work note" : "comment"
            return Proof(ServiceNowConnection.isSysID(id) ? "\(name) \(id)" : name, reference: id)
        }
    }

    /// This account's entries in one journal of a task, newest first.
    struct Entries: Sendable {
        var element: String
        var rows: [JSON]
    }

    /// Whether the account can read the journal's table, as the last reads showed. Saves requests that would fail.
    ///
    /// A class over a lock, because all comments of a connection share it, and because sources are values and this outlives a poll.
    final class Access: Sendable {
        enum Kind: Sendable { case unknown, open, closed }
        private let kind = Mutex(Kind.unknown)
        var now: Kind { kind.withLock { $0 } }
        func set(_ new: Kind) { kind.withLock { $0 = new } }
    }

    let connection: ServiceNowConnection
    let session: ServiceNowSession
    private var access: Access { connection.journalAccess }
    /// How many of this account's newest entries are read at first.
    private static let depth = 50
    /// The same limit for several tasks together, and for one task with many entries since the first request.
    private static let most = 500

    func lookUp(for search: Search) async throws(Failure) -> Lookup {
        if access.now == .closed {
            let finding = try await lookUpInTask(for: search)
            guard case .unprovable = finding else { return finding }
        }
        if let rows = try await listed(search) { return finding(in: rows, for: search) ?? .absent }
        let query = Self.query("=\(search.task.text)", search.element, search.formerUsers)
        var (rows, total) = try await entries(query, limit: Self.depth)
        var limit = Self.depth
        if Self.isCut(rows, at: limit, search) {
            limit = Self.most
            (rows, total) = try await entries(query, limit: limit)
        }
        if !rows.isEmpty { access.set(.open) }
        if let finding = finding(in: rows, for: search) { return finding }
        if Self.isCut(rows, at: limit, search) {
            return .unprovable("this account has written \(limit) other entries in the time in which it may have been written")
        }
        // The total is counted before access rules apply, so it includes hidden entries.
        if let total {
            if total <= rows.count || rows.count == limit { return .absent }
        } else if !rows.isEmpty {
            return .absent
        }
        if total == nil, try await canRead(search.element) { return .absent }
        access.set(.closed)
        return try await lookUpInTask(for: search)
    }

    private static func query(_ tasks: String, _ element: String, _ formerUsers: [String] = []) -> String {
        let others = formerUsers.map { "^ORsys_created_by=" + EncodedQuery.escaped($0) }.joined()
        return
            "element_id\(tasks)^element=\(element)^sys_created_by=javascript:gs.getUserName()\(others)^ORDERBYDESCsys_created_on"
    }

    /// Whether a limit cut off entries that may be the comment: even the oldest row is not older than the first request.
    private static func isCut(_ rows: [JSON], at limit: Int, _ search: Search) -> Bool {
        guard rows.count == limit, let time = rows.last?["sys_created_on"]?.asString.flatMap({ Timestamp(sql: $0) }) else {
            return false
        }
        return time >= search.notBefore
    }

    /// This account's entries on the task, read together with those on upcoming tasks; nil if there are no upcoming tasks or the
    /// answer is incomplete: then the task needs its own request.
    private func listed(_ search: Search) async throws(Failure) -> [JSON]? {
        guard let since = search.since, search.formerUsers.isEmpty else { return nil }
        let now = session.clock.now
        if let kept = connection.entries.value(of: search.task, since: since, at: now), kept.element == search.element {
            return kept.rows
        }
        guard !search.upcoming.isEmpty, access.now == .open else { return nil }
        let asked = [search.task] + search.upcoming
        return try await connection.entries.fetch(at: now) { () async throws(Failure) in
            let query = Self.query("IN" + asked.map(\.text).joined(separator: ","), search.element)
            let (rows, total) = try await entries(query, limit: Self.most)
            let tasks = Dictionary(grouping: rows) { TaskKey($0["element_id"].textOrEmpty) }
            guard total == rows.count, rows.count < Self.most, tasks.keys.allSatisfy(asked.contains) else { return (nil, [:]) }
            let all = asked.map { ($0, Entries(element: search.element, rows: tasks[$0] ?? [])) }
            return (tasks[search.task] ?? [], Dictionary(all) { first, _ in first })
        }
    }

    /// The result for this account's rows, newest first; nil if all belong to other deliveries.
    private func finding(in rows: [JSON], for search: Search) -> Lookup? {
        let own = rows.reversed().compactMap { row -> (id: String, texts: [String])? in
            guard let id = row["sys_id"]?.asString, row["element"]?.asString == search.element,
                row["element_id"]?.asString == search.task.text,
                let time = row["sys_created_on"]?.asString.flatMap({ Timestamp(sql: $0) }),
                time >= search.notBefore, time <= search.notAfter
            else { return nil }
            return (id, [row["value"].textOrEmpty])
        }
        return finding(among: own, for: search)
    }

    /// The result for this account's entries, oldest first; nil if all belong to other deliveries. An exact match takes precedence
    /// over a text that the instance may have altered.
    private func finding(among entries: [(id: String, texts: [String])], for search: Search) -> Lookup? {
        let claims = connection.claims
        if search.countsEntriesOfOthers {
            for isMeant in [search.text.matches, search.text.resembles] {
                if let entry = entries.first(where: { $0.texts.contains(where: isMeant) }) {
                    return .written(search.proof(entry.id))
                }
            }
            return nil
        }
        let free = entries.filter { !search.claimed.contains($0.id) && claims.isFree($0.id, for: search.delivery) }
        for isMeant in [search.text.matches, search.text.resembles] {
            for entry in free where entry.texts.contains(where: isMeant) && claims.take(entry.id, for: search.delivery) {
                return .written(search.proof(entry.id))
            }
        }
        return free.last.map { .altered(search.proof($0.id), "there is a new entry of this account with another text") }
    }

    /// The rows of a query and their total; empty and nil if the account may not read the journal's table.
    private func entries(_ query: String, limit: Int) async throws(Failure) -> ([JSON], Int?) {
        let call = ServiceNowCall.table(
            "sys_journal_field",
            [
                ("sysparm_query", query), ("sysparm_fields", "sys_id,element_id,element,value,sys_created_on"),
                ("sysparm_limit", String(limit)), ("sysparm_suppress_pagination_header", "true"),
            ], expecting: .rows)
        do throws(Failure) {
            let reply = try await session.send(call)
            return (reply.rows, reply.total)
        } catch  where error.reason == .forbidden || error.reason == .goneOrHidden {
            return ([], nil)
        }
    }

    /// Whether any of this account's entries, on any task, can be read: if so, the absence of one is proof.
    private func canRead(_ element: String) async throws(Failure) -> Bool {
        try await !entries("element=\(element)^sys_created_by=javascript:gs.getUserName()", limit: 1).0.isEmpty
    }

    // MARK: The task's history

    /// The fallback: looks in the history that the task shows, at the entries since the known history or since the first attempt.
    private func lookUpInTask(for search: Search) async throws(Failure) -> Lookup {
        let fields = [search.element] + TaskHistories.times
        var query = TaskPrefetch.Query(task: search.task, table: search.listed, fields: fields, upcoming: search.upcoming)
        let listed: TaskRecord?
        if let since = search.since {
            listed = try await connection.taskPrefetch.record(for: query, since: since, session)
        } else {
            // The histories of as many upcoming tasks as there are writers: their state before they are written to.
            query.upcoming = Array(search.upcoming.prefix(connection.writers.all.count))
            listed = try await connection.taskPrefetch.read(query, session)
        }
        if let listed, let history = listed[search.element]?.label, !history.isEmpty {
            return try await finding(in: history, of: listed.values, for: search)
        }
        var search = search
        // If a list shows no history although the record has one, the earlier state from the list is wrong too.
        if search.history?.length == 0, listed != nil { search.history = nil }
        let call = ServiceNowCall.table(
            "\(search.table)/\(search.task.text)",
            [("sysparm_display_value", "all"), ("sysparm_fields", fields.joined(separator: ","))], expecting: .record)
        let record: JSON
        do throws(Failure) {
            record = try await session.send(call).record
        } catch  where error.reason == .forbidden || error.reason == .goneOrHidden {
            return .unprovable("this account can read neither the journal nor the task")
        }
        let history = FieldValue(record[search.element])?.label ?? ""
        if history.isEmpty { return .unprovable("this account cannot read the journal") }
        return try await finding(in: history, of: record, for: search)
    }

    private func finding(in history: String, of record: JSON, for search: Search) async throws(Failure) -> Lookup {
        if search.history?.above(in: history)?.isEmpty == true { return .absent }
        let labels = try await connection.labels.labels(of: search.element, in: search.table, session)
        let read: JournalHistory
        do throws(JournalHistory.Unreadable) {
            read = try TaskHistories.read(history, above: search.history, since: search.notBefore, labels: labels, record)
        } catch {
            switch error {
            case .times: return .unprovable("the times in the task's history cannot be read")
            case .heading:
                return .unprovable("the label in the headings of the task's history differs from the one in the dictionary")
            }
        }
        return finding(in: read, by: await session.user, for: search)
    }

    private func finding(in history: JournalHistory, by user: ServiceNowUser?, for search: Search) -> Lookup {
        let isNamed = user?.name.isEmpty == false
        let lines = search.text.headings
        var own: [(id: String, texts: [String])] = []
        var others: [String] = []
        for (number, entry) in history.entries.enumerated().reversed() where entry.time <= search.notAfter {
            let texts = history.texts(of: number, joining: lines)
            if isNamed, user?.isShown(as: entry.author) != true {
                others += texts
            } else {
                own.append((entry.id(on: search.task, in: search.element), texts))
            }
        }
        switch finding(among: own, for: search) {
        case .altered? where !isNamed:
            return .unprovable("the history does not show which entries are this account's, and there are new ones")
        case let found?: return found
        case nil: break
        }
        // Names are display names, and one person may have several.
        if others.contains(where: { search.text.matches($0) || search.text.resembles($0) }) {
            return .unprovable("an entry with this text is shown under another name than this account's")
        }
        return .absent
    }
}
