extension SQL {
    enum Sources {
        static let open = """
            INSERT INTO scope (name, source, instance, user, kind, query, opened, health)
            VALUES (:name, :source, :instance, :user, :kind, :query, :opened, :health)
            ON CONFLICT (name) DO UPDATE SET source = excluded.source, opened = excluded.opened
            """

        static let scope = "SELECT id, turn, cursor, answer, health FROM scope WHERE name = :name"

        static let knownCount = "SELECT count(*) FROM task WHERE scope = :scope"

        /// Sorts the ids first, from the index, so that sorting does not copy snapshots.
        static let known = """
            SELECT task.key, task.listed, task.content, task.refreshed
            FROM (SELECT id AS place FROM task WHERE scope = :scope ORDER BY id) JOIN task ON task.id = place
            ORDER BY place
            """

        static let snapshots = """
            SELECT task.snapshot
            FROM (SELECT id AS place FROM task WHERE scope = :scope ORDER BY id) JOIN task ON task.id = place
            ORDER BY place
            """

        static let rememberedTask = "SELECT generation, snapshot FROM task WHERE scope = :scope AND key = :key"

        static let rememberedDeparted = """
            SELECT generation, snapshot, removed, reason FROM departed WHERE scope = :scope AND key = :key
            """

        static let advance = """
            UPDATE scope SET turn = turn + 1, committed = :at, cursor = :cursor, answer = :answer, health = :health WHERE id = :scope
            """

        static let setHealth = "UPDATE scope SET health = :health WHERE name = :name"

        static let setTask = """
            INSERT INTO task (scope, key, listed, content, generation, refreshed, snapshot)
            VALUES (:scope, :key, :listed, :content, :generation, :refreshed, :snapshot)
            ON CONFLICT (scope, key) DO UPDATE SET
                listed = excluded.listed, content = excluded.content, generation = excluded.generation,
                refreshed = excluded.refreshed, snapshot = excluded.snapshot
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
