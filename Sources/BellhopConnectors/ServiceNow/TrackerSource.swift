import BellhopCore

/// The Task Tracker API as a source of kind `tracker`: the active tasks that are assigned to the connection's user.
///
/// Its list has few fields, so each new, removed or due task is also read from the Table API, if the account may do that.
struct TrackerSource: Source {
    let name: String
    let scope: Scope
    let schema: TaskSchema
    private let connection: ServiceNowConnection
    private let reading: TaskReading
    private let timeout: Duration?
    private let journal: JournalWatch?

    var user: String? { connection.user }
    var maxDepartures: Int { TaskTable.maxDepartures }
    /// With the form of the texts, because labels replace them; numbers count as texts then, and other values stay.
    var definitions: [String: String] {
        let labelled = schema.fields.filter { reading.display == .labels && $0.type == .text }
        return schema.definitions.merging(labelled.map { ($0.name, "label of \($0.path)") }) { $1 }
    }

    /// - Parameter settings: checked against ``manifest``.
    init(name: String, settings: Settings, connection: ServiceNowConnection) throws(ConnectorError) {
        let display = settings.text("display").flatMap(Display.init(rawValue:)) ?? .values
        self.name = name
        self.connection = connection
        timeout = settings.duration("timeout")
        let kinds = TaskFields.journals.filter(settings.texts("journal").contains)
        journal = kinds.isEmpty ? nil : JournalWatch(kinds: kinds, table: "task", connection: connection)
        schema = try TaskFields.schema(settings.values["fields"], display: display, source: name)
        scope = Scope(instance: connection.instance, user: connection.username, kind: "tracker")
        reading = TaskReading(schema: schema, display: display) { connection.page(of: $0) }
    }

    func prepare(offline: Bool) async { await connection.learnUser(offline: offline) }

    func list(from lastPoll: LastPoll) async throws(Failure) -> Answer {
        var call = ServiceNowCall.tasks
        call.timeout = timeout
        let reply = try await connection.reading.send(call)
        let fingerprint = Fingerprint(content: reply.body)
        let isSame = fingerprint == lastPoll.answer
        var answer = Answer(
            listing: isSame ? Listing() : try listing(of: reply), coverage: isSame ? .same : .whole, fingerprint: fingerprint,
            cursor: lastPoll.cursor)
        answer.user = await connection.reading.username ?? ""
        if let journal {
            let entries = try await journal.read(
                from: lastPoll.cursor?.value["journal"].flatMap(JournalCursor.init(json:)), among: lastPoll.known, answer.listing,
                at: reply.serverTime ?? connection.clock.now, touched: nil)
            answer.comments = entries.comments
            answer.notices = entries.notices
            answer.cursor = Cursor(["journal": entries.cursor.json])
        }
        return answer
    }

    private func listing(of reply: ServiceNowReply) throws(Failure) -> Listing {
        let listing = try reply.tasks(from: connection.base.place)
        if let odd = listing.entries.first(where: { !$0.key.isDigits }) {
            throw Failure.badAnswer(
                "The task list of \(connection.base.place) has a task with an invalid sys_id: '\(Redaction.excerpt(odd.key.text, length: 40))'."
            )
        }
        return listing
    }

    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        var details = Details()
        if keys.isEmpty { return details }
        let asked = Set(keys)
        var listed: [TaskKey: Listing.Entry] = [:]
        for entry in listing.entries where asked.contains(entry.key) { listed[entry.key] = entry }
        let table = TaskTable(session: connection.reading, paths: reading.paths, display: reading.display, timeout: timeout)
        let rows = try await table.read(keys)
        let user = await connection.reading.user?.sysID ?? ""
        details.remaining = try await remaining(keys.filter { listed[$0] == nil }, in: rows, user: user)
        var missing = 0
        for key in keys {
            if let entry = listed[key] {
                let type = listing.group(of: entry) ?? ""
                if let row = rows.found[key] {
                    details.snapshots.add(reading.text(of: reading.snapshot(key, row: row, type: type), row: row))
                } else {
                    missing += 1
                    details.snapshots[key] = reading.snapshot(key, listed: listing.record(of: entry), type: type, owner: user)
                }
            } else if !details.remaining.contains(key) {
                details.departures[key] = Self.departure(rows.found[key], refusal: rows.refusal)
            }
        }
        let notices = [
            notice(missing: missing, of: listed.count, refusal: rows.refusal),
            listed.count == listing.entries.count ? absentFields(in: rows) : nil,
        ].compactMap(\.self)
        details.notice = notices.isEmpty ? nil : notices.joined(separator: " ")
        return details
    }

    /// The tasks whose records belong in the list: active and assigned to this user.
    ///
    /// - Parameter user: the user's sys_id; empty if the account may not read its own record. Then the instance compares.
    private func remaining(
        _ keys: [TaskKey], in rows: TaskTable.Rows, user: String
    ) async throws(Failure) -> Set<TaskKey> {
        let active = keys.filter { FieldValue(rows.found[$0]?["active"])?.typed(.bool) == .bool(true) }
        if !user.isEmpty { return Set(active.filter { rows.found[$0]?.raw("assigned_to") == user }) }
        let reader = TableReader(session: connection.reading, table: "task", paths: ["sys_id"], timeout: timeout)
        let query = EncodedQuery(
            .init("active", .equal, "true"), .init("assigned_to", .equal, "javascript:gs.getUserID()"))
        var remaining: Set<TaskKey> = []
        try await reader.rows(of: active, matching: query) { key, _ in remaining.insert(key) }
        return remaining
    }

    /// Why a task left the list, by its record.
    private static func departure(_ row: JSON?, refusal: Failure?) -> RemovalReason {
        guard let row else { return refusal == nil ? .gone : .unknown }
        return switch FieldValue(row["active"])?.typed(.bool) {
        case .bool(false): .closed
        case .bool(true): .leftQuery
        default: .unknown
        }
    }

    /// Declared fields that all records lack: the server omits unknown fields.
    private func absentFields(in rows: TaskTable.Rows) -> String? {
        AbsentFields(of: schema, inRows: rows.found.values, known: TaskFields.standard + TaskReading.own).notice(
            of: name,
            advice:
                "A tracker reads the table task: for fields of incidents use a source of kind `table`. A field that the "
                + "account may not read looks like a missing one: a task that had a value of it keeps the last one.")
    }

    private func notice(missing: Int, of listed: Int, refusal: Failure?) -> String? {
        guard missing > 0 else { return nil }
        let consequence = "fields that the tracker's list does not have stay empty"
        if let refusal { return "Source \(name) may not read tasks from the Table API, so \(consequence). \(refusal.message)" }
        let tasks = counted(missing, "task")
        return
            "Source \(name) cannot read \(tasks) of \(listed) from the Table API, though the tracker lists them, so of these \(consequence): "
            + "the account's access rules hide the records."
    }
}

extension TrackerSource: SampledSource {
    var question: [(name: String, text: String)] {
        [
            ("resource", "GET /api/x_snc_my_work/v1/tracker/task"), ("table", "task"),
            ("query", "assigned_to=javascript:gs.getUserID()^active=true^ORDERBYsys_created_on"),
        ]
    }
}

extension TrackerSource {
    static let manifest = SourceManifest(
        kind: "tracker", summary: "The active tasks assigned to the connection's user, by the Task Tracker API.",
        connections: ["servicenow"], labels: TaskFields.labels, comments: TaskFields.journal,
        settings: TaskFields.settings + [
            Setting("refresh", .duration, "How often to read each task again; by default at every poll for up to 200 tasks."),
            .timeout,
        ])
}
