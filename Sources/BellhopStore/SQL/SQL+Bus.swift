extension SQL {
    enum Bus {
        static let isKnown = "SELECT 1 FROM event WHERE \(SQL.has("id", ":id"))"

        static let insert = """
            INSERT INTO event (id, type, source, subject, time, hop, data, cause)
            VALUES (:id, :type, :source, :subject, :time, :hop, :data, :cause)
            """

        /// Marks the events in a range of sequences. A transaction of SQLite's one writer fills such a range without gaps.
        /// (PostgreSQL's sequences have gaps, and rows of other writers between them: there each insert must mark its own row.)
        static let markUnrouted = """
            WITH RECURSIVE place (sequence) AS (
                VALUES (:first) UNION ALL SELECT sequence + 1 FROM place WHERE sequence < :last
            )
            INSERT INTO unrouted (sequence) SELECT sequence FROM place
            """

        /// The columns of an event, in the order in which `StoredEvent` reads them.
        static let columns = ["sequence", "id", "type", "source", "subject", "time", "hop", "data", "cause"]
            .map { "event.\($0)" }.joined(separator: ", ")

        static let unrouted = """
            SELECT \(columns)
            FROM unrouted JOIN event ON event.sequence = unrouted.sequence
            ORDER BY unrouted.sequence
            LIMIT :limit
            """

        static let find = "SELECT \(columns) FROM event WHERE sequence = :sequence"

        static let markRouted = "DELETE FROM unrouted WHERE sequence BETWEEN :first AND :last"
    }
}
