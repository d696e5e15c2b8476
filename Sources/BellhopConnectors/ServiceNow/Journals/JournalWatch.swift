import BellhopCore
import Synchronization

/// Reads new journal entries of tasks: from the journal's table or, if the account may not read it, from the tasks' histories.
struct JournalWatch: Sendable {
    /// The result of one poll.
    struct Entries: Sendable {
        var comments: [TaskComment] = []
        var cursor: JournalCursor
        var notices: [String] = []
    }

    let kinds: [String]
    let table: String
    let connection: ServiceNowConnection
    var times = TableTimes()
    private let state = TableState(page: 1000)
    /// Whether the account may read other people's entries in the journal's table.
    private let access = Journal.Access()
    private let latest = LatestRead()

    /// With at most this many tasks, the query names them; with more, it reads the entries of all tasks.
    private static let maxNamed = 40
    /// Without new entries, the watermark advances only after this time.
    private static let idle = Duration.seconds(600)

    /// The entries added since the cursor; without a cursor, none.
    /// - Parameters:
    ///   - listing: the poll's listing, whose new tasks count as known.
    ///   - now: the server's time.
    ///   - touched: the tasks that changed or left since the last poll; nil if the poll does not show them.
    func read(
        from cursor: JournalCursor?, among known: KnownTasks, _ listing: Listing, at now: Timestamp, touched: [TaskKey]?
    ) async throws(Failure) -> Entries {
        guard let cursor else {
            let first = JournalCursor(at: now)
            latest.note(first, at: now)
            return Entries(cursor: first)
        }
        let tasks = Set(listing.entries.lazy.map(\.key).filter { known[$0] == nil })
        let end = now - times.lag
        // A deep read finds entries that were committed after the overlap.
        let isDue = end >= cursor.reread + times.reconcile
        let deep = min(cursor.reread, cursor.watermark) - times.reconcile - times.overlap
        // The account may have been given the right to read the journal, or was refused by mistake.
        if isDue, access.now == .closed { access.set(.unknown) }
        let walk = Walk.window(
            field: "sys_created_on", from: max(isDue ? deep : cursor.watermark - times.overlap, cursor.floor),
            through: max(end, cursor.watermark))
        var entries = try await journal(of: known, and: tasks, touched: touched, walk)
        var result = Entries(cursor: cursor)
        let origin: JournalCursor.Origin = entries == nil ? .histories : .journal
        if entries == nil {
            let history = TaskHistories(kinds: kinds, table: table, connection: connection)
            let candidates = touched ?? known.map(\.key) + tasks.sorted()
            // A walk finds tasks long after they changed or left.
            let read = try await history.entries(of: candidates, since: deep, floor: cursor.floor, above: cursor.histories)
            entries = read.comments
            result.notices = read.notices
            result.cursor.histories = read.known
            result.cursor.histories.keep { known[$0] != nil || tasks.contains($0) }
        } else {
            // The histories change before they are next read, so their known states become useless.
            result.cursor.histories = KnownHistories()
        }
        if isDue { result.cursor.reread = end }
        // A new task may have arrived at any time since the last poll.
        let arrival = min(latest.time(of: cursor) ?? cursor.watermark, now)
        for task in tasks { result.cursor.arrivals[task] = arrival }
        let new = result.cursor.unreported(entries ?? [], from: origin)
        result.comments = new.filter { entry in
            // Entries written on a task long before it arrived are not reported.
            if let arrival = result.cursor.arrivals[entry.task], entry.time < arrival - times.overlap { return false }
            return known[entry.task] != nil || tasks.contains(entry.task)
        }.sorted { ($0.time, $0.id) < ($1.time, $1.id) }
        if !result.comments.isEmpty || isDue || end > cursor.watermark + Self.idle {
            result.cursor.watermark = max(cursor.watermark, end)
            result.cursor.reported += result.comments.map { JournalCursor.ReportedEntry($0, from: origin) }
            result.cursor.forget(before: min(result.cursor.reread, result.cursor.watermark) - times.reconcile - times.overlap)
        }
        latest.note(result.cursor, at: now)
        return result
    }

    /// The entries of the known and the new tasks in the journal's table; nil if the account may not read it.
    private func journal(
        of known: KnownTasks, and new: Set<TaskKey>, touched: [TaskKey]?, _ walk: Walk
    ) async throws(Failure) -> [TaskComment]? {
        if known.count + new.count == 0 { return [] }
        let keys = known.count + new.count <= Self.maxNamed ? known.map(\.key) + new.sorted() : nil
        if keys == nil {
            // Other tasks can have any number of hidden entries, so some of these tasks show first what the account may read.
            let some = (touched ?? []) + known.prefix(Self.maxNamed).map(\.key)
            try await findAccess(by: Array(some.prefix(Self.maxNamed)))
        }
        return access.now == .closed ? nil : try await journal(of: keys, walk)
    }

    /// The entries of these tasks, or of all, in the journal's table; nil if the account may not read it.
    private func journal(of keys: [TaskKey]?, _ walk: Walk) async throws(Failure) -> [TaskComment]? {
        let rows: TableWalk.Rows
        do throws(Failure) {
            rows = try await TableWalk(
                reader: reader, filter: entries(of: keys), order: walk, timeField: "sys_created_on", state: state,
                clock: connection.clock,
                last: nil, known: KnownTasks()
            ).run()
            if rows.listing.entries.isEmpty, try await !isOpen(counted: rows.counted) { return nil }
        } catch  where error.reason == .forbidden || error.reason == .goneOrHidden {
            access.set(.closed)
            return nil
        }
        let listing = rows.listing
        if !listing.entries.isEmpty { access.set(.open) }
        let own = await connection.reading.username
        return listing.entries.compactMap { comment($0.key, listing.record(of: $0), own) }
    }

    private static let paths = ["sys_id", "element_id", "element", "value", "sys_created_by", "sys_created_on"]

    private var reader: TableReader {
        TableReader(session: connection.reading, table: "sys_journal_field", paths: Self.paths)
    }

    /// The query for the entries of some tasks; nil for all.
    private func entries(of keys: [TaskKey]?) -> EncodedQuery {
        let all = EncodedQuery(.init("element", isOneOf: kinds))
        return keys.map { all.and(EncodedQuery(.init("element_id", isOneOf: $0.map(\.text)))) } ?? all
    }

    /// Whether an empty list means that there are no entries. Access rules can hide entries that are still counted.
    private func isOpen(counted: Int?) async throws(Failure) -> Bool {
        if let counted, counted > 0, access.now != .open { access.set(.closed) }
        try await findAccess(by: nil)
        return access.now != .closed
    }

    /// Finds out by some entries of these tasks, or of all, whether the account may read the table, unless that is known.
    private func findAccess(by tasks: [TaskKey]?) async throws(Failure) {
        guard access.now == .unknown else { return }
        do throws(Failure) {
            let reply = try await reader.page(entries(of: tasks), limit: 10)
            if try !reply.list.isEmpty {
                access.set(.open)
            } else if let total = reply.total, total > 0 {
                access.set(.closed)
            }
        } catch  where error.reason == .forbidden || error.reason == .goneOrHidden {
            access.set(.closed)
        }
    }

    /// - Parameter own: this account's user name; nil if unknown. Then only our recorded writes show which entries are ours.
    private func comment(_ key: TaskKey, _ row: JSON, _ own: String?) -> TaskComment? {
        func text(_ name: String) -> String { row.raw(name) ?? "" }
        guard kinds.contains(text("element")), ServiceNowConnection.isSysID(text("element_id")),
            let time = Timestamp(sql: text("sys_created_on"))
        else { return nil }
        let author = text("sys_created_by")
        return TaskComment(
            id: key.text, task: TaskKey(text("element_id")), text: text("value"), author: author, kind: text("element"),
            time: time, authorship: own.map { ASCII.equalIgnoringCase(author, $0) ? .ours : .others } ?? .unknown)
    }
}

/// The cursor of the latest read, and the server's time then: a cursor without new entries is older than its poll.
///
/// A class over a lock, because sources are values and this outlives a poll.
private final class LatestRead: Sendable {
    private let state = Mutex<(cursor: JournalCursor, time: Timestamp)?>(nil)

    /// When the poll was that stored this cursor; nil if another process stored it.
    func time(of cursor: JournalCursor) -> Timestamp? {
        state.withLock { latest in latest.flatMap { $0.cursor == cursor ? $0.time : nil } }
    }

    func note(_ cursor: JournalCursor, at time: Timestamp) { state.withLock { $0 = (cursor, time) } }
}
