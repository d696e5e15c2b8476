/// Every statement the store runs, whole, by topic. They are SQLite's dialect; where PostgreSQL would say it differently, a comment
/// says how.
enum SQL {
    static let begin = "BEGIN IMMEDIATE"
    static let commit = "COMMIT"
    static let rollback = "ROLLBACK"
    static let savepoint = "SAVEPOINT one"
    static let release = "RELEASE one"
    static let rollbackToSavepoint = "ROLLBACK TO one"

    /// What the writer keeps of the file in memory, in kibibytes: little, except while very much is written at once.
    static let usualCache = "PRAGMA cache_size = -4096"
    static let largeCache = "PRAGMA cache_size = -32768"

    enum Notes {
        static let value = "SELECT value FROM note WHERE key = :key"
        static let set =
            "INSERT INTO note (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        static let forget = "DELETE FROM note WHERE key = :key"
        /// When something was last written down, whatever it was.
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
