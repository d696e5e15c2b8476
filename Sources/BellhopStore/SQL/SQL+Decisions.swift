extension SQL {
    enum Decisions {
        static let last = "SELECT coalesce(max(number), 0) FROM decision WHERE rule = :rule AND verdict = :verdict"

        static let insert = """
            INSERT INTO decision (rule, verdict, number, occasion, at, detail)
            VALUES (:rule, :verdict, :number, :occasion, :at, :detail)
            """

        static let trim = "DELETE FROM decision WHERE rule = :rule AND verdict = :verdict AND number <= :last"

        /// Newest first; the caller reverses them.
        static let newest = "\(rows) WHERE \(filter) ORDER BY at DESC, number DESC LIMIT :limit"

        static let ofOccasion = "\(rows) WHERE occasion = :occasion AND \(filter) ORDER BY at DESC, number DESC LIMIT :limit"

        private static let rows = "SELECT rule, verdict, number, occasion, at, detail FROM decision"

        private static let filter = """
            (:rule IS NULL OR rule = :rule) AND (:since IS NULL OR at >= :since)
                AND (:verdicts IS NULL OR verdict IN (SELECT value FROM json_each(:verdicts)))
            """

        static let prune = """
            DELETE FROM decision
            WHERE rowid IN (SELECT rowid FROM decision WHERE verdict = :verdict AND at < :before LIMIT :limit)
            """
    }
}
