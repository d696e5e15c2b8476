extension SQL {
    /// Pruning walks a table from its oldest row in steps, and stops at the first step with nothing old in it. A row that is
    /// newer than those after it (the clock was set) is left for later.
    enum Pruning {
        static let removeStops = "DELETE FROM stop WHERE until <= :now AND since <= :since"

        static let removeConversations = "DELETE FROM conversation WHERE used < :before"

        static let events = """
            SELECT count(*), max(sequence), coalesce(sum(time < :before), 0)
            FROM (SELECT sequence, time FROM event WHERE sequence > :after ORDER BY sequence LIMIT 1000)
            """

        /// Keeps unrouted events, events that a replay or a rule's state refers to, events that a digest has yet to show (unless they
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
