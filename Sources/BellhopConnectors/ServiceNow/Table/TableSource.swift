public import BellhopCore
import Synchronization

/// A table of the instance as a source of kind `table`: the rows of an encoded query, read through the Table API.
///
/// Most polls read only the rows that changed since the last poll, by their times. Polls at longer intervals, and all polls while
/// there are few rows, read all rows. A row has all fields of a task, so there are no further details.
public struct TableSource: Source {
    public let name: String
    public let scope: Scope
    let settings: TableSettings
    let connection: ServiceNowConnection
    let state: TableState
    let columns: TableColumns
    let journal: JournalWatch?

    public var user: String? { connection.user }
    public var hidesChanges: Bool { false }
    public var maxDepartures: Int { TaskTable.maxDepartures }
    public var schema: TaskSchema { columns.schema }
    /// Without types: they depend on what the dictionary says, too, and not only on the configuration.
    public var definitions: [String: String] { Dictionary(schema.fields.map { ($0.name, $0.path) }) { _, last in last } }

    /// - Parameter settings: checked against ``manifest``.
    public init(name: String, settings: Settings, connection: ServiceNowConnection) throws(ConnectorError) {
        try self.init(name: name, settings: TableSettings(settings, source: name), connection: connection)
    }

    init(name: String, settings: TableSettings, connection: ServiceNowConnection) throws(ConnectorError) {
        self.name = name
        self.settings = settings
        self.connection = connection
        scope = Scope(instance: connection.instance, user: connection.username, kind: "table", query: settings.scope)
        state = TableState(page: settings.page)
        columns = try TableColumns(settings, source: name, connection: connection)
        journal =
            settings.journal.isEmpty
            ? nil : JournalWatch(kinds: settings.journal, table: settings.table, connection: connection, times: settings.times)
    }

    public func prepare(offline: Bool) async {
        await columns.prepare(offline: offline)
        await connection.learnUser(offline: offline)
    }

    var reading: TaskReading {
        let page = connection.page(of: settings.table)
        var reading = TaskReading(schema: schema, display: settings.display, table: settings.table) { key in
            page + (key.isDigits ? key.text : PercentEncoding.encode(key.text))
        }
        reading.unrequested = Set(reading.paths.filter { !columns.exists($0) })
        return reading
    }

    /// The fields of each row: the task's, and those the poll itself needs.
    var paths: [String] {
        let needed = reading.paths(columns.exists) + [settings.timeField, "sys_mod_count"] + columns.query.fields
        return needed.unique().filter(columns.exists)
    }

    func reader(_ paths: [String]) -> TableReader {
        TableReader(
            session: connection.reading, table: settings.table, paths: paths, display: settings.display,
            category: settings.question.category, timeout: settings.timeout, seed: settings.seed)
    }

    // MARK: - Polling

    public func list(from lastPoll: LastPoll) async throws(Failure) -> Answer {
        try await columns.examine()
        let paths = paths
        let before = TableCursor(lastPoll.cursor)
        var next = before ?? TableCursor()
        let shape = ([settings.display.rawValue] + paths).joined(separator: ",")
        next.shape = Fingerprint(content: shape, seed: settings.seed).hex
        let start = start(before, shape: next.shape, known: lastPoll.known.count)
        let (rows, walk) = try await read(
            from: start, paths, last: before?.shape == next.shape ? lastPoll.answer : nil, known: lastPoll.known)
        let listing = rows.listing
        try await columns.checkConditions(listing)
        let isHidden = try await checkHiding(rows, walk, lastPoll)
        advance(&next, rows, walk, isFew: max(lastPoll.known.count, listing.entries.count) <= few)
        var answer = Answer(
            listing: listing, coverage: rows.isSame ? .same : walk.isWhole ? .whole : .part,
            fingerprint: rows.movedOn == 0 ? rows.fingerprint : .zero, lag: settings.times.lag + .seconds(10),
            notices: notices(rows) + (isHidden ? [hidingNotice(rows)] : []))
        answer.user = await connection.reading.username ?? ""
        if let journal {
            // A task is often closed with its last comment, so those that left count as touched.
            let comparison = lastPoll.known.compare(with: answer)
            let touched = (comparison.new + comparison.changed).map { listing.entries[$0].key }
            let entries = try await journal.read(
                from: next.journal, among: lastPoll.known, listing, at: rows.began,
                touched: touched + comparison.gone.prefix(maxDepartures))
            next.journal = entries.cursor
            answer.comments = entries.comments
            answer.notices += entries.notices
        }
        answer.cursor = next.cursor
        if walk.isWhole, !rows.isSame {
            (next.watermark, next.reconciled) = (before?.watermark, nil)
            answer.cursorIfIncomplete = next.cursor
        }
        return answer
    }

    private var few: Int { min(settings.times.few, state.limit) }

    /// Where the next window starts; nil to walk all rows.
    private func start(_ cursor: TableCursor?, shape: String, known: Int) -> Timestamp? {
        guard let cursor, cursor.shape == shape, known > few, let watermark = cursor.watermark,
            let reconciled = cursor.reconciled
        else { return nil }
        let age = state.serverTime(connection.clock.now) - reconciled
        return age < settings.times.reconcile && age > .zero - settings.times.reconcile ? watermark - settings.times.overlap : nil
    }

    /// Walks all rows, or those of a window.
    private func read(
        from start: Timestamp?, _ paths: [String], last: Fingerprint?, known: KnownTasks
    ) async throws(Failure) -> (TableWalk.Rows, Walk) {
        func rows(_ walk: Walk) async throws(Failure) -> TableWalk.Rows {
            try await TableWalk(
                reader: reader(paths), filter: columns.query, order: walk, timeField: settings.timeField, state: state,
                clock: connection.clock, last: last, known: known
            ).run()
        }
        guard let start else { return (try await rows(.whole), .whole) }
        let walk = window(from: start)
        let first = try await rows(walk)
        // If the local clock is ahead and the server's was unknown, the window reached into the server's future.
        if case .window(_, _, let through) = walk, through > max(start, first.began - settings.times.lag) + .seconds(2) {
            let again = window(from: start)
            return (try await rows(again), again)
        }
        return (first, walk)
    }

    private func window(from start: Timestamp) -> Walk {
        let end = state.serverTime(connection.clock.now) - settings.times.lag
        return .window(field: settings.timeField, from: start, through: max(start, end))
    }

    /// Moves the cursor to where the next poll starts.
    private func advance(_ cursor: inout TableCursor, _ rows: TableWalk.Rows, _ walk: Walk, isFew: Bool) {
        if rows.isSame { return }
        // Rows that a walk has passed may have changed before its end, so its start counts.
        let end = rows.began - settings.times.lag
        if let latest = rows.latest {
            cursor.watermark = max(cursor.watermark ?? .distantPast, min(latest, end))
        } else if cursor.watermark == nil, rows.timeless.isEmpty {
            cursor.watermark = end
        }
        if walk.isWhole { cursor.reconciled = isFew ? nil : rows.began }
    }

    private func notices(_ rows: TableWalk.Rows) -> [String] {
        var notices: [String] = []
        if let first = rows.timeless.first {
            notices.append(
                "Source \(name): \(rows.timeless.count) of the rows have no readable \(settings.timeField) (one is \(first.text)); "
                    + "their changes are noticed only when all rows are walked, every \(settings.times.reconcile).")
        }
        if let first = rows.nameless.first {
            notices.append(
                "Source \(name): \(rows.nameless.count) of the rows were skipped, because their sys_id is invalid "
                    + "(one is '\(Redaction.excerpt(first, length: 40))').")
        }
        return notices
    }
}

extension TableSource {
    public static let manifest = SourceManifest(
        kind: "table", summary: "The rows of a table that an encoded query selects, by the Table API.",
        connections: ["servicenow"], labels: TaskFields.labels, comments: TaskFields.journal,
        settings: [
            Setting("table", .text, required: true, "The table's name, such as `incident`.")
        ] + TableQuestion.settings + TaskFields.settings + [
            Setting(
                "reconcile", .duration, default: "15m",
                "How often to walk all rows, which finds tasks that left and changes without a new timestamp; at every poll while all tasks fit on one page (`page`, at most 1000)."
            ),
            Setting(
                "overlap", .duration, default: "2m",
                "How far a poll reaches back before the last row it saw, to find transactions that commit late."),
            Setting("lag", .duration, default: "5s", "How far a poll stays behind the server's clock."),
            Setting("updated", .name, default: "sys_updated_on", "The field with the time of a row's last update."),
            Setting("page", .integer(10...10_000), default: "1000", "The number of rows per request."),
            .timeout,
        ])
}

/// Facts about the server that the polls of a table use again: its clock, how many rows it can return at once, and which fields it hides.
///
/// A class over a lock, because sources are values and this outlives a poll.
final class TableState: Sendable {
    private struct Facts {
        /// How far the server's clock is ahead.
        var ahead: Duration?
        /// The current page size.
        var limit: Int
        /// The successful pages since the page size last changed.
        var successes = 0
        /// Since when the server has counted rows but shown none.
        var hiding: Timestamp?
        /// The fields that rows do not show, each with one of their tasks, and whether that has left.
        var unread: [String: (task: TaskKey, hasLeft: Bool)] = [:]
    }

    private let facts: Mutex<Facts>
    private let maxPage: Int
    static let minPage = 10

    /// - Parameter page: the page size while the server can handle it.
    init(page: Int) {
        maxPage = page
        facts = Mutex(Facts(limit: page))
    }

    var limit: Int { facts.withLock { $0.limit } }

    /// Halves the page; false if it is minimal already.
    func shrink() -> Bool {
        facts.withLock { facts in
            guard facts.limit > Self.minPage else { return false }
            facts.limit = max(Self.minPage, facts.limit / 2)
            facts.successes = 0
            return true
        }
    }

    /// Records a successful page: after every tenth, pages grow by a quarter, up to the original size.
    func succeed() {
        facts.withLock { facts in
            guard facts.limit < maxPage else { return }
            facts.successes += 1
            guard facts.successes >= 10 else { return }
            facts.successes = 0
            facts.limit = min(maxPage, facts.limit + max(facts.limit / 4, 1))
        }
    }

    /// Records that the server counts rows but shows none; returns since when.
    func hidesRows(at now: Timestamp) -> Timestamp {
        facts.withLock { facts in
            let since = facts.hiding ?? now
            facts.hiding = since
            return since
        }
    }

    func showsRows() { facts.withLock { $0.hiding = nil } }

    /// The fields that rows do not show, after these details: a field is one of them until the row of its task shows it or, if that has
    /// left, all rows that are read do.
    func unread(after details: Details) -> [String] {
        let rows = details.snapshots.texts.filter { details.departures[$0.key] == nil }
        var lacking: [String: TaskKey] = [:]
        for row in rows {
            for name in row.unread { lacking[name] = row.key }
        }
        return facts.withLock { facts in
            for (name, field) in facts.unread where lacking[name] == nil {
                let hasLeft = field.hasLeft || details.departures[field.task] != nil
                let isShown = hasLeft ? !rows.isEmpty : details.snapshots.text(of: field.task) != nil
                facts.unread[name] = isShown ? nil : (field.task, hasLeft)
            }
            for (name, task) in lacking { facts.unread[name] = (task, false) }
            return facts.unread.keys.sorted()
        }
    }

    /// The server's time, or the local time while the difference is unknown.
    func serverTime(_ now: Timestamp) -> Timestamp { now + (facts.withLock { $0.ahead } ?? .zero) }

    func note(_ reply: ServiceNowReply, at now: Timestamp) {
        guard let time = reply.serverTime else { return }
        facts.withLock { $0.ahead = time - now }
    }
}

/// The position of a table's polls, stored with each poll.
struct TableCursor: Sendable, Hashable {
    /// The latest time of a row; nil if no row had a time.
    var watermark: Timestamp?
    /// When all rows were last walked, by the server's clock.
    var reconciled: Timestamp?
    /// A fingerprint of the rows' fields: rows with other fields cannot be compared.
    var shape = ""
    var journal: JournalCursor?

    init() {}

    init?(_ cursor: Cursor?) {
        guard let json = cursor?.value, json.asObject != nil else { return nil }
        watermark = json["watermark"]?.asInt.map { Timestamp(microseconds: $0) }
        reconciled = json["reconciled"]?.asInt.map { Timestamp(microseconds: $0) }
        shape = json["shape"].textOrEmpty
        journal = json["journal"].flatMap(JournalCursor.init(json:))
    }

    var cursor: Cursor {
        var members: JSON.Object = ["shape": .string(shape)]
        if let watermark { members["watermark"] = .int(watermark.microseconds) }
        if let reconciled { members["reconciled"] = .int(reconciled.microseconds) }
        if let journal { members["journal"] = journal.json }
        return Cursor(.object(members))
    }
}

/// Display names of task tables, for answers without display values.
enum ClassNames {
    private static let labels = [
        "sc_task": "Catalog Task", "sc_req_item": "Requested Item", "sc_request": "Request", "kb_submission": "KB Submission",
        "hr_case": "HR Case", "sn_customerservice_case": "Case", "std_change_proposal": "Standard Change Proposal",
    ]

    /// `Change Request` for `change_request`.
    static func label(of table: String) -> String {
        if let label = labels[table] { return label }
        return table.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: " ")
    }
}
