extension SQL {
    /// Deliveries that wait for other deliveries. Only rules with `on_error: stop` fill these tables.
    enum Predecessors {
        /// Makes a delivery wait for a predecessor, if that still exists.
        static let insert = """
            INSERT OR IGNORE INTO delivery_wait (after, delivery)
            SELECT id, :delivery FROM delivery WHERE \(Deliveries.isNamed) AND id < :delivery
            """

        static let followers = """
            SELECT delivery.id, delivery.state, delivery.bars, delivery.lane
            FROM delivery_wait CROSS JOIN delivery ON delivery.id = delivery_wait.delivery
            WHERE delivery_wait.after = :id
            ORDER BY delivery_wait.delivery
            """

        /// Whether a predecessor was given up, whether one waits for a person (itself or through others), and whether one is not done.
        static let readiness = """
            SELECT
                coalesce(max(delivery.state IN ('dead', 'dropped')), 0),
                coalesce(max(delivery.state = 'held' OR (delivery.state = 'waiting' AND delivery.bars = 0)), 0),
                coalesce(max(delivery.state NOT IN ('done', 'shadow', 'silenced', 'quiet')), 0)
            FROM delivery_wait CROSS JOIN delivery ON delivery.id = delivery_wait.after
            WHERE delivery_wait.delivery = :id
            """

        static let free = """
            UPDATE delivery SET
                state = 'available', head = 0, bars = 0, run_at = max(run_at, :now), finished = NULL, failure = NULL
            WHERE id = :id
            """

        static let wait = """
            UPDATE delivery SET state = 'waiting', head = 0, bars = :bars, finished = NULL, failure = NULL WHERE id = :id
            """

        static let stop = """
            UPDATE delivery SET state = 'dropped', head = 0, bars = 0, finished = :now, failure = :failure WHERE id = :id
            """

        static let forget = "DELETE FROM delivery_wait WHERE delivery = :id"

        static let anyBars = "SELECT EXISTS (SELECT 1 FROM delivery WHERE bars = 1)"

        static let laneBars = "SELECT 1 FROM delivery WHERE lane = :lane AND bars = 1"
    }
}
