import BellhopCore

extension Session {
    enum PruningStep: Sendable {
        case events(after: Int64)
        case deliveries(after: Int64)
        case decisions([DecisionRecord.Verdict])
        case audit
        /// Sets the time until which the keys of `once` of removed rules stay.
        case keysOfRemovedRules
        case expiredState
        case removedTasks
        case oldScopes
        case rest
    }

    /// The most rows that one step deletes.
    private static let step = 1000

    /// Takes one step, of at most a thousand rows of the large tables; returns how many rows were removed, and the next step.
    ///
    /// - Parameter scopes: scopes in use, which stay however old they are.
    func prune(
        _ step: PruningStep, _ retention: Retention, keeping scopes: Set<Scope.ID>, at now: Timestamp
    ) throws -> (removed: Int, next: PruningStep?) {
        switch step {
        case .events(let after):
            let (removed, last) = try walk(
                SQL.Pruning.events, SQL.Pruning.removeEvents, after, before: now - retention.events, at: now,
                stale: now - max(retention.forgotten, retention.events))
            if removed > 0 { try notePrunedEvents(before: now - retention.events) }
            return (removed, last.map { .events(after: $0) } ?? .deliveries(after: 0))
        case .deliveries(let after):
            let (removed, last) = try walk(
                SQL.Pruning.deliveries, SQL.Pruning.removeDeliveries, after, before: now - retention.deliveries, at: now)
            if let last, removed > 0 { try forgetWaits(after: after, through: last) }
            return (removed, last.map { .deliveries(after: $0) } ?? .decisions(DecisionRecord.Verdict.allCases))
        case .decisions(let verdicts):
            guard let verdict = verdicts.first else { return (0, .audit) }
            let kept = verdict.isCommon ? min(retention.commonDecisions, retention.events) : retention.events
            let removed = try forget(verdict, before: now - kept, atMost: Self.step)
            return (removed, .decisions(removed == Self.step ? verdicts : Array(verdicts.dropFirst())))
        case .audit:
            let removed = try pruneAudit(before: now - retention.audit, atMost: Self.step, at: now)
            return (removed, removed == Self.step ? .audit : .keysOfRemovedRules)
        case .keysOfRemovedRules:
            let marked = try run(SQL.Pruning.expireOnce, (":until", now + Self.memory(retention)), (":limit", Self.step))
            return (0, marked == Self.step ? .keysOfRemovedRules : .expiredState)
        case .expiredState:
            let removed = try run(SQL.Pruning.removeState, (":end", now - StateWrite.clockCorrection), (":limit", Self.step))
            return (removed, removed == Self.step ? .expiredState : .removedTasks)
        case .removedTasks:
            let removed = try forgetTasks(before: Self.forgottenSince(retention, at: now), atMost: Self.step)
            return (removed, removed == Self.step ? .removedTasks : .oldScopes)
        case .oldScopes:
            let removed = try forgetScope(before: Self.forgottenSince(retention, at: now), keeping: scopes, atMost: Self.step)
            return (removed, removed > 0 ? .oldScopes : .rest)
        case .rest:
            var removed = try run(SQL.Pruning.removeConversations, (":before", Self.forgottenSince(retention, at: now)))
            removed += try forgetNotes()
            // Stops that ended this long ago no longer affect the receiver.
            removed += try run(SQL.Pruning.removeStops, (":now", now), (":since", now - ReceiverPace.memory))
            removed += try run(SQL.Silences.prune, (":before", now - retention.deliveries))
            return (removed, nil)
        }
    }

    /// Tasks that were removed earlier are forgotten. A forgotten task counts its changes from the start again, so its new events, and
    /// the deliveries that are named after them, must not collide with old ones.
    private static func forgottenSince(_ retention: Retention, at now: Timestamp) -> Timestamp { now - memory(retention) }

    private static func memory(_ retention: Retention) -> Duration {
        max(retention.forgotten, retention.events, retention.deliveries)
    }

    /// Removes the old ones among the next thousand rows; returns the last of these rows, or nil if all are new.
    private func walk(
        _ look: String, _ remove: String, _ after: Int64, before limit: Timestamp, at now: Timestamp, stale: Timestamp? = nil
    ) throws -> (removed: Int, last: Int64?) {
        var looking = try prepare(look, (":before", limit), (":now", now), (":after", after))
        guard try looking.next(), looking.int(0) > 0, looking.int(2) > 0 else { return (0, nil) }
        let last = looking.int(1)
        var removing = try prepare(remove, (":after", after), (":last", last), (":before", limit))
        if let stale { try removing.bind(":stale", stale) }
        return (try removing.run(), last)
    }

    private static let prunedNote = "store/pruned-events"

    /// The time before which events were deleted.
    func prunedEvents() throws -> Timestamp? { try note(Self.prunedNote)?.asInt.map { Timestamp(microseconds: $0) } }

    private func notePrunedEvents(before limit: Timestamp) throws {
        if let known = try prunedEvents(), known >= limit { return }
        try setNote(Self.prunedNote, to: .int(limit.microseconds))
    }

    /// Deletes the waits of the deleted deliveries in this range, and the waits for them.
    private func forgetWaits(after: Int64, through last: Int64) throws {
        for sql in SQL.Pruning.removeWaits { try run(sql, (":after", after), (":last", last)) }
    }

    /// Deletes tasks that were removed before the limit, at most this many; returns how many.
    private func forgetTasks(before limit: Timestamp, atMost count: Int) throws -> Int {
        let tasks = try rows(SQL.Pruning.departed, (":before", limit), (":limit", count)) { row in
            (scope: row.int(0), key: row.key(1))
        }
        var statement = try prepare(SQL.Sources.removeDeparted)
        for task in tasks {
            try statement.bind(":scope", task.scope)
            try statement.bind(":key", key: task.key)
            try statement.run()
        }
        return tasks.count
    }

    /// Deletes at most this many tasks of a scope that was not used since the limit, or the scope if it has none; returns how many rows.
    private func forgetScope(before limit: Timestamp, keeping kept: Set<Scope.ID>, atMost count: Int) throws -> Int {
        let scopes = try rows(SQL.Pruning.oldScopes, (":before", limit)) { row in
            kept.contains(Scope.ID(text: row.text(1))) ? nil : row.int(0)
        }
        guard let scope = scopes.first else { return 0 }
        // A source that uses the scope again must not find a part of its tasks.
        try run(SQL.Pruning.retireScope, (":scope", scope))
        for sql in [SQL.Pruning.removeScopeTasks, SQL.Pruning.removeScopeDeparted] {
            let removed = try run(sql, (":scope", scope), (":limit", count))
            if removed > 0 { return removed }
        }
        return try run(SQL.Pruning.removeScope, (":scope", scope))
    }

    /// Deletes the notes about deleted deliveries.
    private func forgetNotes() throws -> Int {
        // The end of the texts with this prefix: `0` follows `/`.
        let end = String(Delivery.notePrefix.dropLast()) + "0"
        let keys = try rows(SQL.Notes.startingWith, (":first", Delivery.notePrefix), (":end", end)) { row in row.text(0) }
        var finding = try prepare(SQL.Deliveries.isKnown)
        var count = 0
        for key in keys {
            try finding.bind(":name", key: String(key.dropFirst(Delivery.notePrefix.count)))
            if try finding.exists() { continue }
            try setNote(key, to: nil)
            count += 1
        }
        return count
    }
}

extension SQL {
    /// Pruning walks a table from its oldest row in steps, and stops at the first step with only new rows. A row that is newer than
    /// those after it (the clock was set) is left for later. Rows from the future do not end the walk: they would keep all later ones
    /// for as long as the clock was ahead.
    enum Pruning {
        static let removeStops = "DELETE FROM stop WHERE until <= :now AND since <= :since"

        static let removeConversations = "DELETE FROM conversation WHERE used < :before"

        static let events = """
            SELECT count(*), max(sequence), coalesce(sum(time < :before OR time > :now), 0)
            FROM (SELECT sequence, time FROM event WHERE sequence > :after ORDER BY sequence LIMIT 1000)
            """

        /// Keeps unrouted events, events that a replay or a rule's state refers to, events that a digest has not shown yet (unless they
        /// are stale), and always the last event on the bus.
        static let removeEvents = """
            DELETE FROM event
            WHERE sequence > :after AND sequence <= :last AND time < :before
                AND sequence NOT IN (SELECT sequence FROM unrouted WHERE sequence > :after AND sequence <= :last)
                AND sequence NOT IN (SELECT event FROM replay)
                AND sequence NOT IN (SELECT event FROM rule_state WHERE event > :after AND event <= :last)
                AND (time < :stale OR sequence <= coalesce((
                    SELECT min(rule_state.event)
                    FROM rule CROSS JOIN rule_state
                        ON rule_state.rule = rule.name AND rule_state.kind = 'digest' AND rule_state.key = ''
                    WHERE rule.name NOT IN (SELECT rule FROM pause)), :last))
                AND sequence < (SELECT max(sequence) FROM event)
            """

        static let deliveries = """
            SELECT count(*), max(id), coalesce(sum(created < :before OR created > :now), 0)
            FROM (SELECT id, created FROM delivery WHERE id > :after ORDER BY id LIMIT 1000)
            """

        /// A held delivery waits for a person, however long that takes. A joined one stays while others wait behind its message.
        static let removeDeliveries = """
            DELETE FROM delivery
            WHERE id > :after AND id <= :last AND finished < :before AND bars = 0
                AND state IN ('done', 'joined', 'dead', 'dropped', 'shadow', 'silenced')
            """

        /// An id may be reused after its delivery is deleted, so no wait may refer to it.
        static let removeWaits = [
            """
            DELETE FROM delivery_wait
            WHERE after > :after AND after <= :last
                AND after NOT IN (SELECT id FROM delivery WHERE id > :after AND id <= :last)
            """,
            """
            DELETE FROM delivery_wait
            WHERE delivery > :after AND delivery <= :last
                AND delivery NOT IN (SELECT id FROM delivery WHERE id > :after AND id <= :last)
            """,
        ]

        /// Keeps a task while a rule's state is about it: the state keeps an event, whose id must not be used again.
        static let departed = """
            SELECT scope, key FROM departed
            WHERE removed < :before AND NOT EXISTS (
                SELECT 1 FROM scope CROSS JOIN rule_state
                    ON rule_state.subject = scope.instance || '/' || (departed.snapshot ->> '$.id')
                WHERE scope.id = departed.scope)
            LIMIT :limit
            """

        /// A rule that is added again meanwhile keeps its keys: see `SQL.Rules.keepOnce`.
        static let expireOnce = """
            UPDATE rule_state SET expires = :until
            WHERE id IN (
                \(State.namedRules)
                SELECT rule_state.id FROM named CROSS JOIN rule_state
                    ON rule_state.rule = named.rule AND rule_state.kind = 'once'
                WHERE rule_state.expires IS NULL AND NOT EXISTS (
                    SELECT 1 FROM rule
                    WHERE name = iif(named.rule LIKE 'shadow/%', substr(named.rule, 8), named.rule))
                LIMIT :limit)
            """

        /// After downtime, the events that are not routed yet and the timers that came due are decided as of their own time: state that was
        /// valid then stays. A paused rule's timers may stay due for months, and do not count.
        static let removeState = """
            DELETE FROM rule_state
            WHERE id IN (
                SELECT id FROM rule_state
                WHERE expires IS NOT NULL AND expires < min(
                    :end,
                    coalesce((SELECT time FROM event WHERE sequence = (SELECT min(sequence) FROM unrouted)), :end),
                    coalesce((SELECT due FROM timer WHERE rule NOT IN (SELECT rule FROM pause) ORDER BY due LIMIT 1), :end))
                LIMIT :limit)
            """

        static let oldScopes = "SELECT id, name FROM scope WHERE max(opened, coalesce(committed, opened)) < :before"

        /// Gives the scope a name that no source has.
        static let retireScope = "UPDATE scope SET name = 'retired/' || id WHERE id = :scope"

        static let removeScopeTasks = "DELETE FROM task WHERE id IN (SELECT id FROM task WHERE scope = :scope LIMIT :limit)"

        static let removeScopeDeparted = """
            DELETE FROM departed
            WHERE scope = :scope AND key IN (SELECT key FROM departed WHERE scope = :scope LIMIT :limit)
            """

        static let removeScope = "DELETE FROM scope WHERE id = :scope"
    }
}
