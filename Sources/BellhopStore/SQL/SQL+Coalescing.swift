import BellhopCore

extension SQL {
    /// The waiting messages of a receiver that may be combined into one. Each statement reads a limited number of deliveries of a rule,
    /// however many wait.
    enum Coalescing {
        static let nextRule = """
            SELECT min(rule) FROM delivery
            WHERE \(Deliveries.isAvailable) AND head = :head AND receiver = :receiver AND rule > :rule
            """

        /// Reads no bodies.
        static let count = """
            SELECT coalesce(sum(coalesces), 0) FROM (
                SELECT coalesces FROM delivery
                WHERE \(Deliveries.isAvailable) AND head = :head AND receiver = :receiver AND rule = :rule
                    AND run_at <= :now
                LIMIT :limit)
            """

        static let heads = """
            SELECT \(Deliveries.identity), id
            FROM (
                SELECT id, coalesces AS joins FROM delivery
                WHERE \(Deliveries.isAvailable) AND head = 1 AND receiver = :receiver AND rule = :rule
                    AND run_at <= :now
                LIMIT :limit) AS waiting
            CROSS JOIN delivery USING (id)
            WHERE joins = 1 AND \(isReady)
            """

        /// The next delivery of a lane, if it is a message that may join those before it.
        static let nextOfLane = """
            SELECT \(Deliveries.identity), id FROM delivery
            WHERE id = (
                    SELECT id FROM delivery
                    WHERE \(Deliveries.isOpenInLane) AND state IN ('available', 'running') AND id > :id
                        AND \(Deliveries.isNotBarred)
                    ORDER BY id
                    LIMIT 1)
                AND state = 'available' AND receiver = :receiver AND run_at <= :now AND coalesces = 1 AND \(isReady)
            """

        /// True for a delivery that was never tried, has not expired, and has no later step waiting for it.
        private static let isReady = """
            first_started IS NULL AND (expires IS NULL OR expires >= :now)
                AND NOT EXISTS (SELECT 1 FROM delivery_wait WHERE delivery_wait.after = delivery.id)
            """
    }
}
