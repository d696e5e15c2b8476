import BellhopCore

extension Session {
    private struct ScopeRow {
        var id: Int64
        var turn: Int64
        var cursor: Cursor?
        var answer: Fingerprint?
        var definitions: FieldDefinitions
        var health: SourceHealth
    }

    func open(_ scope: Scope, source: String, at now: Timestamp) throws -> SourceMemory {
        let earlier = try rows(SQL.Sources.latest, (":source", source)) { row in Scope.ID(text: row.text(0)) }.first
        try run(
            SQL.Sources.open, (":name", scope.id.text), (":source", source), (":instance", scope.instance), (":user", scope.user),
            (":kind", scope.kind), (":query", scope.query), (":opened", now), (":health", SourceHealth().stored.encoded()))
        try run(SQL.Sources.openBefore, (":name", scope.id.text), (":source", source), (":opened", now))
        if let earlier, earlier != scope.id { try moveFailures(from: earlier, to: scope.id) }
        let row = try require(scope.id)
        return SourceMemory(
            turn: row.turn, hasBaseline: row.turn > 0, cursor: row.cursor, answer: row.answer, definitions: row.definitions,
            known: try known(row.id), health: row.health)
    }

    func remembered(_ keys: [TaskKey], in scope: Scope.ID) throws -> [TaskKey: RememberedTask] {
        guard let row = try self.scope(scope) else { return [:] }
        var found: [TaskKey: RememberedTask] = [:]
        var present = try prepare(SQL.Sources.rememberedTask)
        var departed = try prepare(SQL.Sources.rememberedDeparted)
        for key in keys {
            try present.bind(":scope", row.id)
            try present.bind(":key", key: key)
            if try present.next() {
                found[key] = RememberedTask(snapshot: try snapshot(present, 1), generation: present.int(0))
                present.stop()
                continue
            }
            try departed.bind(":scope", row.id)
            try departed.bind(":key", key: key)
            if try departed.next() {
                found[key] = RememberedTask(
                    snapshot: try snapshot(departed, 1), generation: departed.int(0), removed: departed.time(2),
                    reason: RemovalReason(rawValue: departed.text(3)))
                departed.stop()
            }
        }
        return found
    }

    /// - Parameters:
    ///   - known: the tasks of a scope at a turn, if they were read before.
    ///   - keep: called with the tasks that had to be read.
    func tasks(
        in scopes: [Scope.ID], known: (Scope.ID, Int64) -> [Snapshot]?, keep: ([Snapshot], Scope.ID, Int64) -> Void
    ) throws -> [Scope.ID: [Snapshot]] {
        var tasks: [Scope.ID: [Snapshot]] = [:]
        var statement = try prepare(SQL.Sources.snapshots)
        for id in Set(scopes) {
            guard let row = try scope(id), row.turn > 0 else { continue }
            if let known = known(id, row.turn) {
                tasks[id] = known
                continue
            }
            var snapshots: [Snapshot] = []
            try statement.bind(":scope", row.id)
            while try statement.next() { snapshots.append(try snapshot(statement, 0)) }
            keep(snapshots, id, row.turn)
            tasks[id] = snapshots
        }
        return tasks
    }

    func tasks(_ query: TaskQuery) throws -> TaskPage {
        var page = TaskPage(tasks: [])
        guard let row = try scope(query.scope) else { return page }
        var statement = try prepare(SQL.Sources.page)
        try statement.bind(":name", query.name)
        try statement.bind(":key", key: query.name)
        try statement.bind(":scope", row.id)
        // Zero comes before all keys.
        if let after = query.after { try statement.bind(":after", key: after) } else { try statement.bind(":after", 0) }
        try statement.bind(":limit", query.limit)
        var (count, last) = (0, "")
        while try statement.next() {
            count += 1
            last = statement.key(0)
            if !statement.isNull(1) { page.tasks.append(try snapshot(statement, 1)) }
        }
        if count > 0, count == query.limit { page.end = TaskKey(last) }
        return page
    }

    /// T1.
    func commit(_ poll: PollCommit) throws -> PollResult {
        let row = try require(poll.scope)
        guard row.turn == poll.expectedTurn else { return .superseded }
        try setPresent(poll.present, in: row.id)
        try setRemoved(poll.removed, in: row.id, at: poll.at)
        let count = try append(poll.events)
        if row.turn == 0 { try beginWaits(with: poll.source, at: poll.at) }
        try run(
            SQL.Sources.advance, (":at", poll.at), (":cursor", poll.cursor?.value.encoded()), (":answer", poll.answer),
            (":definitions", poll.definitions.json.encoded()), (":health", poll.health.stored.encoded()), (":scope", row.id))
        return .committed(turn: row.turn + 1, newEvents: count)
    }

    /// Lets rules begin to wait for the tasks of a source's baseline.
    private func beginWaits(with source: String, at now: Timestamp) throws {
        try run(SQL.Timers.endExisting, (":source", source))
        try run(SQL.Timers.beginExisting, (":source", source), (":now", now))
    }

    func setHealth(_ health: SourceHealth, of scope: Scope.ID, events: [Event], rest: ReceiverStop?) throws {
        guard try run(SQL.Sources.setHealth, (":health", health.stored.encoded()), (":name", scope.text)) == 1 else {
            throw Self.unopened(scope)
        }
        if let rest { try keep(rest) }
        try append(events)
    }

    // Parts.

    /// Moves the failures that `source_failing` announced from the scope that a source had before to its present one, so that
    /// `source_recovered` follows them.
    private func moveFailures(from earlier: Scope.ID, to scope: Scope.ID) throws {
        var (before, now) = (try require(earlier).health, try require(scope).health)
        guard before.announced else { return }
        if !now.announced {
            (now.failures, now.failingSince, now.lastError) = (before.failures, before.failingSince, before.lastError)
            now.announced = true
        }
        (before.failures, before.failingSince, before.lastError, before.announced) = (0, nil, nil, false)
        try setHealth(before, of: earlier, events: [], rest: nil)
        try setHealth(now, of: scope, events: [], rest: nil)
    }

    private func known(_ scope: Int64) throws -> KnownTasks {
        var known = KnownTasks()
        var count = try prepare(SQL.Sources.knownCount, (":scope", scope))
        if try count.next() { known.reserveCapacity(Int(count.int(0))) }
        var statement = try prepare(SQL.Sources.known, (":scope", scope))
        while try statement.next() {
            known.set(
                KnownTask(
                    key: TaskKey(statement.key(0)), listed: try statement.fingerprint(1), content: try statement.fingerprint(2),
                    revision: UInt16(clamping: statement.int(3)), refreshed: statement.optionalTime(4)))
        }
        return known
    }

    private func setPresent(_ tasks: [PollCommit.PresentTask], in scope: Int64) throws {
        guard !tasks.isEmpty else { return }
        let mayReturn = try exists(SQL.Sources.hasDeparted, (":scope", scope))
        var set = try prepare(SQL.Sources.setTask)
        var clear = try prepare(SQL.Sources.removeDeparted)
        for task in tasks {
            let key = task.text.key
            try set.bind(":scope", scope)
            try set.bind(":key", key: key)
            try set.bind(":listed", task.listed)
            try set.bind(":content", task.content)
            try set.bind(":revision", Int64(task.revision))
            try set.bind(":generation", task.generation)
            try set.bind(":refreshed", task.refreshed)
            try set.run(binding: ":snapshot", text: StoredForm.task.stamp(text: task.text.bytes))
            guard mayReturn else { continue }
            try clear.bind(":scope", scope)
            try clear.bind(":key", key: key)
            try clear.run()
        }
    }

    private func setRemoved(_ tasks: [PollCommit.RemovedTask], in scope: Int64, at now: Timestamp) throws {
        guard !tasks.isEmpty else { return }
        var remove = try prepare(SQL.Sources.removeTask)
        var set = try prepare(SQL.Sources.setDeparted)
        for task in tasks {
            try remove.bind(":scope", scope)
            try remove.bind(":key", key: task.key)
            try remove.run()
            try set.bind(":scope", scope)
            try set.bind(":key", key: task.key)
            try set.bind(":generation", task.generation)
            try set.bind(":removed", now)
            try set.bind(":reason", task.reason.rawValue)
            try set.bind(":snapshot", text: StoredForm.task.stamp(text: SnapshotText(task.snapshot).bytes))
            try set.run()
        }
    }

    private func snapshot(_ row: borrowing Prepared, _ column: Int32) throws -> Snapshot {
        guard let snapshot = Snapshot(json: try row.json(column, as: .task)) else { throw DamagedValue("a task has no id") }
        return snapshot
    }

    private func scope(_ id: Scope.ID) throws -> ScopeRow? {
        var statement = try prepare(SQL.Sources.scope)
        try statement.bind(":name", id.text)
        guard try statement.next() else { return nil }
        return ScopeRow(
            id: statement.int(0), turn: statement.int(1), cursor: statement.isNull(2) ? nil : Cursor(try statement.json(2)),
            answer: try statement.optionalFingerprint(3),
            definitions: statement.isNull(4) ? FieldDefinitions() : FieldDefinitions(json: try statement.json(4)),
            health: SourceHealth(stored: try statement.json(5)))
    }

    private func require(_ id: Scope.ID) throws -> ScopeRow {
        guard let row = try scope(id) else { throw Self.unopened(id) }
        return row
    }

    private static func unopened(_ id: Scope.ID) -> StoreError {
        StoreError(.other, "The store has no scope \(id.text): open a scope before polling it.")
    }
}

extension SQL {
    enum Sources {
        static let open = """
            INSERT INTO scope (name, source, instance, user, kind, query, opened, health)
            VALUES (:name, :source, :instance, :user, :kind, :query, :opened, :health)
            ON CONFLICT (name) DO UPDATE SET source = excluded.source, opened = excluded.opened
            """

        /// Lets a scope that the source had while the clock was ahead count as opened before this one.
        static let openBefore = """
            UPDATE scope SET opened = :opened - 1 WHERE source = :source AND name <> :name AND opened >= :opened
            """

        static let latest = "SELECT name FROM scope WHERE source = :source ORDER BY opened DESC LIMIT 1"

        static let scope = "SELECT id, turn, cursor, answer, definitions, health FROM scope WHERE name = :name"

        static let knownCount = "SELECT count(*) FROM task WHERE scope = :scope"

        /// Sorts the ids first, from the index, so that sorting does not copy snapshots.
        static let known = """
            SELECT task.key, task.listed, task.content, task.revision, task.refreshed
            FROM (SELECT id AS place FROM task WHERE scope = :scope ORDER BY id) JOIN task ON task.id = place
            ORDER BY place
            """

        static let snapshots = """
            SELECT task.snapshot
            FROM (SELECT id AS place FROM task WHERE scope = :scope ORDER BY id) JOIN task ON task.id = place
            ORDER BY place
            """

        /// The next tasks in the order of the index on keys, without the snapshots of those with another name.
        static let page = """
            SELECT key, iif(:name IS NULL OR key = :key OR snapshot ->> '$.number' = :name, snapshot, NULL)
            FROM task
            WHERE scope = :scope AND key > :after
            ORDER BY key
            LIMIT :limit
            """

        static let rememberedTask = "SELECT generation, snapshot FROM task WHERE scope = :scope AND key = :key"

        static let rememberedDeparted = """
            SELECT generation, snapshot, removed, reason FROM departed WHERE scope = :scope AND key = :key
            """

        static let advance = """
            UPDATE scope SET
                turn = turn + 1, committed = :at, cursor = :cursor, answer = :answer, definitions = :definitions, health = :health
            WHERE id = :scope
            """

        static let setHealth = "UPDATE scope SET health = :health WHERE name = :name"

        static let setTask = """
            INSERT INTO task (scope, key, listed, content, revision, generation, refreshed, snapshot)
            VALUES (:scope, :key, :listed, :content, :revision, :generation, :refreshed, :snapshot)
            ON CONFLICT (scope, key) DO UPDATE SET
                listed = excluded.listed, content = excluded.content, revision = excluded.revision,
                generation = excluded.generation, refreshed = excluded.refreshed, snapshot = excluded.snapshot
            """

        static let removeTask = "DELETE FROM task WHERE scope = :scope AND key = :key"

        static let hasDeparted = "SELECT 1 FROM departed WHERE scope = :scope"

        static let setDeparted = """
            INSERT INTO departed (scope, key, generation, removed, reason, snapshot)
            VALUES (:scope, :key, :generation, :removed, :reason, :snapshot)
            ON CONFLICT (scope, key) DO UPDATE SET
                generation = excluded.generation, removed = excluded.removed, reason = excluded.reason,
                snapshot = excluded.snapshot
            """

        static let removeDeparted = "DELETE FROM departed WHERE scope = :scope AND key = :key"
    }
}
