extension SQL {
    enum Timers {
        static let nextDue = "SELECT due FROM timer WHERE due > :after AND \(isNotPaused) ORDER BY due LIMIT 1"

        private static let isNotPaused = "timer.rule NOT IN (SELECT rule FROM pause)"

        private static let columns = """
            timer.rule, timer.kind, timer.key, timer.due, timer.payload, rule.place, timer.id
            FROM timer JOIN rule ON rule.name = timer.rule
            """

        /// The due timers, in the order of the index.
        static let due = """
            SELECT \(columns)
            WHERE timer.due <= :now AND \(isNotPaused)
            ORDER BY timer.due, timer.rule, timer.id
            LIMIT :limit
            """

        /// The rules that have timers at one moment, in their order. Finds each with one step in the index.
        static let rulesDue = """
            WITH RECURSIVE found (rule) AS (
                SELECT min(rule) FROM timer WHERE due = :due
                UNION ALL
                SELECT (SELECT min(rule) FROM timer WHERE due = :due AND rule > found.rule) FROM found WHERE rule IS NOT NULL
            )
            SELECT rule.name FROM found JOIN rule ON rule.name = found.rule
            WHERE found.rule NOT IN (SELECT rule FROM pause)
            ORDER BY rule.place
            """

        static let dueOfRule = """
            SELECT \(columns)
            WHERE timer.due = :due AND timer.rule = :rule
            ORDER BY timer.id
            LIMIT :limit
            """

        static let find = """
            SELECT rule, kind, key, due, payload FROM timer WHERE \(isNamed)
            """

        /// Adds a timer; `cancel` runs first, so that a timer that is set again gets a new id. A removed rule gets no timer.
        static let insert = """
            INSERT INTO timer (rule, kind, key, name_key, due, payload)
            SELECT :rule, :kind, :key, name_key(:rule, :kind, :key), :due, :payload
            WHERE EXISTS (SELECT 1 FROM rule WHERE name = :rule)
            """

        static let cancel = "DELETE FROM timer WHERE \(isNamed) AND (:due IS NULL OR due = :due)"

        private static let isNamed = SQL.isNamed(":rule", ":kind", ":key")

        static let removeAll = "DELETE FROM timer WHERE rule = :rule"

        /// Ends the waits and groups of a rule, but not its schedule and escalations.
        static let removeWaits = "DELETE FROM timer WHERE rule = :rule AND kind NOT IN ('schedule', 'escalation')"

        /// Sets the `existing` timers of a source that has made its baseline. `endExisting` runs first.
        static let beginExisting = """
            INSERT INTO timer (rule, kind, key, name_key, due, payload)
            SELECT name, 'existing', :source, name_key(name, 'existing', :source), :now, '{}'
            FROM rule WHERE begins_by_itself = 1
            """

        static let endExisting = """
            DELETE FROM timer
            WHERE name_key IN (SELECT name_key(name, 'existing', :source) FROM rule WHERE begins_by_itself = 1)
                AND +kind = 'existing' AND key = :source
            """
    }
}
