extension SQL {
    /// Finds a task by any of its names, and the state that rules keep about it.
    enum Forgetting {
        /// The tasks with this key, by the index of each scope.
        static let byKey = """
            SELECT scope.instance, task.snapshot FROM scope CROSS JOIN task ON task.scope = scope.id AND task.key = :key
            UNION ALL
            SELECT scope.instance, departed.snapshot FROM scope CROSS JOIN departed ON departed.scope = scope.id AND departed.key = :key
            """

        /// Reads all tasks: only a person asks for one by its number or address.
        static let byName = """
            SELECT scope.instance, task.snapshot FROM task JOIN scope ON scope.id = task.scope
            WHERE task.snapshot ->> '$.number' = :name OR task.snapshot ->> '$.url' = :name
            UNION ALL
            SELECT scope.instance, departed.snapshot FROM departed JOIN scope ON scope.id = departed.scope
            WHERE departed.snapshot ->> '$.number' = :name OR departed.snapshot ->> '$.url' = :name
            """

        /// A task that only rules still know.
        static let bySubject = "SELECT 1 FROM rule_state WHERE subject = :name LIMIT 1"

        static let about = "SELECT rule, kind, key, element FROM rule_state WHERE subject = :subject"

        /// The rows of `once` and `throttle` with this key. Goes from rule to rule by the index of rules.
        static let keyed = """
            WITH RECURSIVE named (rule) AS (
                SELECT min(rule) FROM rule_state
                UNION ALL
                SELECT (SELECT min(rule) FROM rule_state WHERE rule_state.rule > named.rule) FROM named WHERE rule IS NOT NULL
            )
            SELECT rule_state.rule, rule_state.kind, rule_state.key, rule_state.element
            FROM named CROSS JOIN (SELECT 'once' AS kind UNION ALL SELECT 'throttle') AS wanted
                CROSS JOIN rule_state
                ON name_key = name_key(named.rule, wanted.kind, :key) AND +rule_state.rule = named.rule
                    AND +rule_state.kind = wanted.kind AND key = :key
            """

        static let remains = "SELECT 1 FROM rule_state WHERE \(State.isOfKey)"
    }
}
