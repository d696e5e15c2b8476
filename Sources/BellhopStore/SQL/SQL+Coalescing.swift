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

        /// A message without `thread` that cannot have been sent, and is not itself made of several.
        private static let isMessage = """
            action = 'notify' AND uncertain_started IS NULL AND step NOT LIKE '%.\(Delivery.coalesced)'
                AND json_extract(body, '$.message.thread') IS NULL
            """
    }
}
