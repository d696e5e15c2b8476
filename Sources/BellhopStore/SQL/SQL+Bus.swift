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

        static let unrouted = """
            SELECT event.sequence, event.id, event.type, event.source, event.subject, event.time, event.hop, event.data,
                event.cause
            FROM unrouted JOIN event ON event.sequence = unrouted.sequence
            ORDER BY unrouted.sequence
            LIMIT :limit
            """

        static let find = "SELECT sequence, id, type, source, subject, time, hop, data FROM event WHERE sequence = :sequence"

        static let markRouted = "DELETE FROM unrouted WHERE sequence BETWEEN :first AND :last"
    }
}
