import BellhopCore

extension SQL {
    /// The waiting messages of a receiver that may become one. Looks at the first deliveries in the index only, however many wait.
    enum Coalescing {
        static let count = """
            SELECT count(*) FROM (
                SELECT 1 FROM (
                    SELECT id FROM delivery
                    WHERE state = 'available' AND state <> 'done' AND head IN (0, 1) AND receiver = :receiver AND run_at <= :now
                    LIMIT 5000) AS waiting
                CROSS JOIN delivery USING (id)
                WHERE \(isMessage)
                LIMIT :limit)
            """

        static let heads = """
            SELECT \(Deliveries.identity), id
            FROM (
                SELECT id FROM delivery
                WHERE state = 'available' AND state <> 'done' AND head = 1 AND receiver = :receiver AND run_at <= :now
                LIMIT 5000) AS waiting
            CROSS JOIN delivery USING (id)
            WHERE \(isMessage)
            LIMIT :limit
            """

        /// A message that cannot have been sent, has not expired, and belongs to itself alone: it has no `thread`, mentions no one,
        /// is not itself made of several, and no later step waits for it.
        private static let isMessage = """
            action = 'notify' AND first_started IS NULL AND step NOT LIKE '%.\(Delivery.coalesced)'
                AND (expires IS NULL OR expires >= :now)
                AND json_extract(body, '$.message.title') IS NOT NULL
                AND json_extract(body, '$.message.thread') IS NULL AND json_extract(body, '$.message.mentions') IS NULL
                AND NOT EXISTS (SELECT 1 FROM delivery_wait WHERE delivery_wait.after = delivery.id)
            """
    }
}
