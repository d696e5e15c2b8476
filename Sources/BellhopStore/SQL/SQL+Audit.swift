extension SQL {
    enum Audit {
        /// There is always a row: pruning keeps the last row that it removes, with its hash alone. (PostgreSQL: the same, with a lock of
        /// the table.)
        static let insert = """
            INSERT INTO audit (number, at, entry, hash)
            SELECT number + 1, :at, :entry, audit_hash(hash, number + 1, :entry) FROM audit ORDER BY number DESC LIMIT 1
            """

        /// Adds the row after the last one, whose number and hash the transaction has read.
        static let add = "INSERT INTO audit (number, at, entry, hash) VALUES (:number, :at, :entry, :hash)"

        static let rows = """
            SELECT number, at, entry, hash FROM audit
            WHERE number > :after AND (:since IS NULL OR at >= :since)
            ORDER BY number
            LIMIT :limit
            """

        static let last = "SELECT number, at, entry, hash FROM audit ORDER BY number DESC LIMIT 1"

        /// The oldest rows after the first one, without the last one, which always stays.
        static let old = """
            SELECT number, at FROM audit
            WHERE number > (SELECT min(number) FROM audit) AND number < (SELECT max(number) FROM audit)
            ORDER BY number
            LIMIT :limit
            """

        static let remove = "DELETE FROM audit WHERE number < :number"

        static let empty = "UPDATE audit SET entry = '' WHERE number = :number RETURNING hash"
    }
}
