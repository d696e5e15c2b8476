extension SQL {
    enum Looking {
        /// The scope that each source was last opened with.
        static let sources = """
            SELECT source, instance, user, kind, query, turn, committed, health,
                (SELECT count(*) FROM task WHERE task.scope = scope.id)
            FROM scope
            WHERE opened = (SELECT max(opened) FROM scope AS other WHERE other.source = scope.source)
            ORDER BY source
            """

        static let rules = """
            SELECT name, runs, errors, last_error, last_run, (SELECT min(due) FROM timer WHERE timer.rule = rule.name), is_off,
                dropped
            FROM rule
            ORDER BY name
            """

        /// What each rule waits for, has counted and has gathered, in both modes. (PostgreSQL: the same.)
        static let waits = """
            SELECT name,
                (SELECT count(*) FROM timer WHERE timer.rule = name AND kind = 'hold'),
                (SELECT min(due) FROM timer WHERE timer.rule = name AND kind = 'hold'),
                (SELECT count(*) FROM rule_state WHERE rule_state.rule IN (name, 'shadow/' || name) AND kind = 'count'),
                (SELECT count(*) FROM timer WHERE timer.rule = name AND kind = 'group'),
                (SELECT min(due) FROM timer WHERE timer.rule = name AND kind = 'group'),
                (SELECT count(*) FROM rule_state WHERE rule_state.rule IN (name, 'shadow/' || name) AND kind = 'gathered'),
                (SELECT count(*) FROM rule_state WHERE rule_state.rule IN (name, 'shadow/' || name) AND kind = 'match'),
                (SELECT count(*) FROM timer WHERE timer.rule = name AND kind = 'absence'),
                (SELECT min(due) FROM timer WHERE timer.rule = name AND kind = 'absence')
            FROM rule
            WHERE waits IS NOT NULL
            ORDER BY name
            """

        /// The escalations of each rule that have steps to come.
        static let escalations = """
            SELECT name,
                (SELECT count(*) FROM timer WHERE timer.rule = name AND kind = 'escalation'),
                (SELECT min(due) FROM timer WHERE timer.rule = name AND kind = 'escalation')
            FROM rule
            ORDER BY name
            """

        /// How many deliveries wait for each receiver that is or was stopped. From the index alone.
        static let waiting = """
            SELECT receiver, (
                SELECT count(*) FROM delivery
                WHERE state = 'available' AND state <> 'done' AND head IN (0, 1) AND delivery.receiver = stopped.receiver)
            FROM (SELECT DISTINCT receiver FROM stop) AS stopped
            """

        static let openDeliveries = "SELECT state, count(*) FROM delivery WHERE state <> 'done' GROUP BY state"

        /// The dead and held deliveries, counted by state, receiver and reason.
        static let undecided = """
            SELECT state, receiver, json_extract(failure, '$.reason') AS reason, count(*) AS number FROM delivery
            WHERE state IN ('dead', 'held') AND state <> 'done'
            GROUP BY state, receiver, reason
            ORDER BY state, receiver, number DESC, reason
            """

        static let deliveryCount = "SELECT count(*) FROM delivery"

        static let eventCount = "SELECT count(*) FROM event"

        static let unroutedCount = "SELECT count(*) FROM unrouted"

        /// Newest first; the caller reverses them.
        static let events = "\(eventRows) WHERE \(eventFilter) ORDER BY sequence DESC LIMIT :limit"

        /// Oldest first: a page of the events after a place.
        static let eventsAfter = """
            \(eventRows)
            WHERE sequence > :after AND (:through IS NULL OR sequence <= :through) AND \(eventFilter)
            ORDER BY sequence
            LIMIT :limit
            """

        /// The first and the last place of the newest events.
        static let eventSpan = """
            SELECT min(sequence), max(sequence)
            FROM (SELECT sequence FROM event WHERE \(eventFilter) ORDER BY sequence DESC LIMIT :limit)
            """

        private static let eventRows = "SELECT sequence, id, type, source, subject, time, hop, data, cause FROM event"

        /// `:types` and `:sources` are JSON arrays. (PostgreSQL: real arrays, `= ANY`.)
        private static let eventFilter = """
            (:types IS NULL OR type IN (SELECT value FROM json_each(:types)))
                AND (:sources IS NULL OR source IN (SELECT value FROM json_each(:sources)))
                AND (:since IS NULL OR time >= :since)
                AND (:task IS NULL OR subject = :task OR substr(subject, -length(:task) - 1) = '/' || :task
                    OR json_extract(data, '$.task.number') = :task)
                AND (:id IS NULL OR iif(typeof(id) = 'blob', lower(hex(id)), id) LIKE :id ESCAPE '\\')
            """

        /// Newest first; the caller reverses them.
        static let deliveries = "\(deliveryRows) WHERE \(deliveryFilter) ORDER BY id DESC LIMIT :limit"

        /// Oldest first: a page of the deliveries after a place.
        static let deliveriesAfter = """
            \(deliveryRows)
            WHERE id > :after AND (:through IS NULL OR id <= :through) AND \(deliveryFilter)
            ORDER BY id
            LIMIT :limit
            """

        /// The delivery with this whole id, by the index of names.
        static let delivery = "\(deliveryRows) WHERE name = :name AND \(deliveryFilter) LIMIT :limit"

        /// Its place, as first and last.
        static let deliveryPlace = "SELECT id, id FROM delivery WHERE name = :name AND \(deliveryFilter) LIMIT :limit"

        /// The first and the last place of the newest deliveries.
        static let deliverySpan = """
            SELECT min(id), max(id) FROM (SELECT id FROM delivery WHERE \(deliveryFilter) ORDER BY id DESC LIMIT :limit)
            """

        private static let deliveryRows = """
            SELECT \(Deliveries.identity), state, attempts, finished, receipt, reference, failure, id, first_started, started
            FROM delivery
            """

        private static let deliveryFilter = """
            (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
                AND (:rule IS NULL OR rule = :rule)
                AND (:receiver IS NULL OR receiver = :receiver)
                AND (:since IS NULL OR created >= :since)
                AND (:reason IS NULL OR json_extract(failure, '$.reason') = :reason)
                AND (:occasion IS NULL OR occasion = :occasion)
                AND (:id IS NULL OR lower(hex(name)) LIKE :id ESCAPE '\\')
            """
    }

    /// Pruning walks a table from its oldest row in steps, and stops at the first step with nothing old in it. A row that is
    /// newer than those after it (the clock was set) is left for later.
    enum Pruning {
        static let delivery = "SELECT 1 FROM delivery WHERE name = :name"

        static let removeStops = "DELETE FROM stop WHERE until <= :now AND since <= :since"

        static let removeConversations = "DELETE FROM conversation WHERE used < :before"

        static let events = """
            SELECT count(*), max(sequence), coalesce(sum(time < :before), 0)
            FROM (SELECT sequence, time FROM event WHERE sequence > :after ORDER BY sequence LIMIT 1000)
            """

        /// Keeps events that rules have not seen yet or still wait with, and always the last place on the bus.
        static let removeEvents = """
            DELETE FROM event
            WHERE sequence > :after AND sequence <= :last AND time < :before
                AND sequence NOT IN (SELECT sequence FROM unrouted WHERE sequence > :after AND sequence <= :last)
                AND sequence NOT IN (SELECT event FROM rule_state WHERE event > :after AND event <= :last)
                AND sequence < (SELECT max(sequence) FROM event)
            """

        static let deliveries = """
            SELECT count(*), max(id), coalesce(sum(created < :before), 0)
            FROM (SELECT id, created FROM delivery WHERE id > :after ORDER BY id LIMIT 1000)
            """

        /// A held delivery waits for a person, however long that takes.
        static let removeDeliveries = """
            DELETE FROM delivery
            WHERE id > :after AND id <= :last AND finished < :before AND state IN ('done', 'dead', 'dropped', 'shadow', 'silenced')
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

        static let removeDeparted = "DELETE FROM departed WHERE removed < :before"

        static let removeState = "DELETE FROM rule_state WHERE expires IS NOT NULL AND expires < :now"

        static let oldScopes = "SELECT id, name FROM scope WHERE max(opened, coalesce(committed, opened)) < :before"

        static let removeScopeTasks = "DELETE FROM task WHERE scope = :scope"

        static let removeScopeDeparted = "DELETE FROM departed WHERE scope = :scope"

        static let removeScope = "DELETE FROM scope WHERE id = :scope"
    }
}
