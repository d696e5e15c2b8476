extension SQL {
    enum Silences {
        static let insert = """
            INSERT INTO silence (id, entry, starts, ends, body) VALUES (:id, :entry, :starts, :ends, :body)
            ON CONFLICT (id) DO NOTHING
            """

        /// All silences. Those that have ended come last.
        static let all =
            "SELECT entry, body, kept, started, ended, starts, ends FROM silence ORDER BY ended IS NOT NULL, starts, id"

        static let start = "UPDATE silence SET started = :now WHERE id = :id"

        static let end = "UPDATE silence SET ended = :now WHERE id = :id"

        /// Changes nothing if the silence has ended.
        static let count = "UPDATE silence SET kept = kept + :count WHERE id = :id AND ended IS NULL"

        /// Counts from the later of the actual and the planned end, so that an entry of bellhop.yaml does not begin again.
        static let prune = "DELETE FROM silence WHERE max(ended, ends) < :before"
    }
}
