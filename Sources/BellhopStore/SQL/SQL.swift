/// The statements that the store runs, in SQLite's dialect. Most of them are in the files of the sessions that use them. Comments in
/// parentheses say how PostgreSQL would differ.
enum SQL {
    static let begin = "BEGIN IMMEDIATE"
    static let commit = "COMMIT"
    static let rollback = "ROLLBACK"
    static let savepoint = "SAVEPOINT one"
    static let release = "RELEASE one"
    static let rollbackToSavepoint = "ROLLBACK TO one"

    /// The limit of the writer's page cache, in kibibytes; ``GroupCommit`` releases its memory after a burst.
    static let cacheSize = "PRAGMA cache_size = -32768"

    /// The rows of this rule, kind and key, found with the index on `name_key`. (`+` keeps the planner from using the index on `rule`.)
    static func isNamed(_ rule: String, _ kind: String, _ key: String) -> String {
        "name_key = name_key(\(rule), \(kind), \(key)) AND +rule = \(rule) AND +kind = \(kind) AND key = \(key)"
    }

    /// The row with this long key, found with an index on the first characters of the keys. Because that index is small, many new rows
    /// with random keys write few pages of it.
    static func has(_ column: String, _ key: String) -> String {
        "\(beginning(of: column)) = \(beginning(of: key)) AND \(column) = \(key)"
    }

    private static func beginning(of key: String) -> String { "substr(\(key), 1, 6)" }

    enum Notes {
        static let value = "SELECT value FROM note WHERE key = :key"
        static let set =
            "INSERT INTO note (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        static let forget = "DELETE FROM note WHERE key = :key"
        /// The time of the last write, apart from notes.
        static let latest = """
            SELECT max(moment) FROM (
                SELECT max(committed) AS moment FROM scope
                UNION ALL
                SELECT (SELECT time FROM event ORDER BY sequence DESC LIMIT 1)
                UNION ALL
                SELECT (
                    SELECT max(created, coalesce(started, created), coalesce(finished, created))
                    FROM delivery ORDER BY id DESC LIMIT 1))
            """
        static let startingWith = "SELECT key FROM note WHERE key >= :first AND key < :end"
    }
}
