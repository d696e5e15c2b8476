import BellhopCore

/// Checks whether this account may do everything the configured sources and the loaded rules need. It writes nothing.
struct ServiceNowExamination {
    let connection: ServiceNowConnection
    let needs: ConnectionNeeds
    var findings: [Finding] = []
    private var serverTime: Timestamp?
    private var rateLimit: String?
    /// A task to test with: its table and sys_id.
    private(set) var sample: (table: String, id: String)?

    init(_ connection: ServiceNowConnection, _ needs: ConnectionNeeds) { (self.connection, self.needs) = (connection, needs) }

    mutating func run() async -> [Finding] {
        let user: ServiceNowUser
        do throws(Failure) {
            user = try await connection.verifyUser(force: false)
        } catch {
            return [Finding("login", error)]
        }
        findings.append(Finding("login", .ok, user.shown))
        await examineUser(user)
        let comments = needs.actions.filter { $0.action == CommentAction.manifest.kind }
        let isWatched = needs.sources.contains { $0.kind == TrackerSource.manifest.kind }
        let notes = comments.contains { $0.constants["visibility"] != "customer" }
        if isWatched || notes { await examineTracker(isNeeded: isWatched) }
        for source in needs.sources { await examine(source) }
        if !comments.isEmpty || needs.sources.contains(where: { !$0.settings.texts("journal").isEmpty }) {
            await examineJournal()
        }
        await examineActions(user)
        findings.insert(clock, at: 1)
        if let rateLimit {
            findings.append(
                Finding(
                    "rate limit", .note, "the instance accepts \(rateLimit) requests an hour from this account",
                    remedy: "a longer `every`, or `rate:` on the connection, keeps below it"))
        }
        return findings
    }

    mutating func ask(_ call: ServiceNowCall) async throws(Failure) -> ServiceNowReply {
        let reply = try await connection.reading.send(call)
        serverTime = reply.serverTime ?? serverTime
        rateLimit = reply.headers["X-RateLimit-Limit"] ?? rateLimit
        return reply
    }

    mutating func rows(
        _ table: String, _ query: String, _ fields: [String], limit: Int = 1
    ) async throws(Failure) -> (rows: [JSON], total: Int) {
        let reply = try await ask(.rows(table, query, fields, limit: limit))
        return (reply.rows, reply.total ?? reply.rows.count)
    }

    // MARK: The user and the clock

    private var clock: Finding { .clock(serverTime, here: connection.clock.now, server: "the instance") }

    private mutating func examineUser(_ user: ServiceNowUser) async {
        let name = EncodedQuery.escaped(user.username)
        let found = try? await rows("sys_user", "user_name=\(name)", ["user_name", "time_zone"]).rows.first
        guard needs.sources.contains(where: { ($0.settings.text("display") ?? "values") != "values" }) else { return }
        guard let zone = found?.raw("time_zone") else {
            return findings.append(
                Finding(
                    "time zone", .unknown, "labels show times in the account's zone, which this account may not read",
                    remedy: "let it read its own sys_user record, or use `display: values`"))
        }
        findings.append(
            Finding("time zone", .ok, "labels show times in \(zone.isEmpty ? "the instance's own zone" : zone); values are UTC"))
    }

    // MARK: Reading

    private mutating func examineTracker(isNeeded: Bool) async {
        let subject = "task tracker"
        do throws(Failure) {
            let reply = try await ask(.tasks)
            let listing = try? Listing(reply.body, shape: .serviceNow)
            guard let listing else {
                return findings.append(Finding(subject, .missing, "its list cannot be read", reason: .badAnswer))
            }
            if let first = listing.entries.first { sample = ("task", first.key.text) }
            let count = listing.entries.count
            findings.append(Finding(subject, .ok, counted(count, "active task")))
        } catch {
            var finding = Finding(subject, error)
            switch error.reason {
            case .apiMissing: finding.remedy = "install the \"My Work\" update set there, or watch a `table`"
            case .forbidden: finding.remedy = "let the account use the Task Tracker API, or watch a `table`"
            default: break
            }
            if !isNeeded, error.reason == .apiMissing || error.reason == .forbidden {
                finding = Finding(subject, .note, "it is not available to this account; work notes go to the record itself")
            }
            findings.append(finding)
        }
    }

    private mutating func examine(_ source: ConnectionNeeds.SourceNeed) async {
        let isTracker = source.kind == TrackerSource.manifest.kind
        if source.kind == PageSource.manifest.kind { return await examinePage(source) }
        guard let table = isTracker ? "task" : source.settings.text("table"), FieldWrite.isName(table) else { return }
        let query = isTracker ? "assigned_to=javascript:gs.getUserID()^active=true" : ""
        let subject = "read \(table)"
        let unknown = await examineNames(source)
        let paths = source.schema.fields.map(\.path).filter { !unknown.contains($0) }
        // The tracker's list is enough to watch tasks: if the records are hidden, only their fields stay empty.
        let verdict = isTracker ? Finding.State.note : .missing
        do throws(Failure) {
            let found = try await rows(table, query, ["sys_id", "sys_class_name"] + paths)
            guard let row = found.rows.first else {
                let text = "source \(source.name): \(found.total) tasks, of which the account may not read the first"
                return findings.append(
                    found.total > 0
                        ? Finding(subject, verdict, text, remedy: "let it read \(table)", reason: .forbidden)
                        : Finding(subject, .unknown, "source \(source.name): there is no task to test with"))
            }
            if let id = row.raw("sys_id") {
                let name = row.raw("sys_class_name") ?? table
                sample = (FieldWrite.isName(name) ? name : table, id)
            }
            let absent = paths.filter { row[$0] == nil }.map { "`\($0)`" }
            if absent.isEmpty {
                return findings.append(Finding(subject, .ok, "source \(source.name): all \(paths.count) fields"))
            }
            findings.append(
                Finding(
                    subject, .missing, "source \(source.name): no \(absent.joined(separator: ", "))",
                    remedy: "check the spelling, let the account read it, or leave it out of `fields`", reason: .badArguments))
        } catch {
            var finding = Finding(subject, error)
            finding.text = "source \(source.name): \(finding.text)"
            if error.reason == .forbidden {
                finding.state = verdict
                finding.remedy = "a role that may read \(table), such as itil"
            }
            findings.append(finding)
        }
    }

    /// Checks that the table has the fields the source names, including its filter and order; returns the missing ones.
    private mutating func examineNames(_ need: ConnectionNeeds.SourceNeed) async -> Set<String> {
        guard let source = try? connection.source(need.name, kind: need.kind, settings: need.settings) as? TableSource else {
            return []
        }
        // If the dictionary cannot be read, the records show what is wrong.
        guard let unknown = try? await source.columns.unknownFields() else { return [] }
        for field in unknown {
            findings.append(
                Finding(
                    "fields", field.failure,
                    remedy:
                        "write the field's own name, as the table's dictionary has it (`assigned_to`, not its label), or leave it out"
                ))
        }
        return Set(unknown.map(\.path))
    }

    private mutating func examinePage(_ need: ConnectionNeeds.SourceNeed) async {
        let subject = "read \(need.name)"
        guard let source = try? connection.source(need.name, kind: need.kind, settings: need.settings) as? PageSource,
            let probe = source.probe
        else { return }
        do throws(Failure) {
            let response = try await connection.page(probe.address, headers: [:], timeout: probe.timeout)
            findings.append(Finding(subject, .ok, try source.words(for: response)))
        } catch {
            findings.append(Finding(subject, error, remedy: "check that `path` is right, and that the account may open the page"))
        }
    }

    private mutating func examineJournal() async {
        let subject = "read journal"
        let remedy = "let the account read sys_journal_field"
        let less = "the task's own history is used instead"
        do throws(Failure) {
            let found = try await rows("sys_journal_field", "elementINcomments,work_notes", ["sys_id"])
            findings.append(
                !found.rows.isEmpty
                    ? Finding(subject, .ok, "comments are proved by their entries")
                    : found.total > 0
                        ? Finding(subject, .note, "its entries are hidden from this account; \(less)", remedy: remedy)
                        : Finding(subject, .unknown, "there is no entry to test with"))
        } catch {
            findings.append(
                error.reason == .forbidden
                    ? Finding(subject, .note, "this account may not read it; \(less)", remedy: remedy) : Finding(subject, error))
        }
    }
}
