extension SQL {
    /// Messages that quiet times hold. Each statement reads only the index of held messages.
    enum Quiet {
        static let next = "SELECT min(run_at) FROM delivery WHERE state = 'quiet'"

        static let first = """
            SELECT run_at, receiver FROM delivery WHERE state = 'quiet' AND run_at <= :now ORDER BY run_at, receiver LIMIT 1
            """

        static let held = """
            SELECT \(Deliveries.identity), id FROM delivery
            WHERE state = 'quiet' AND run_at = :end AND receiver = :receiver
            ORDER BY id
            LIMIT :limit
            """

        static let continues = "SELECT 1 FROM conversation WHERE receiver = :receiver AND conversation = :conversation"

        static let waits = "SELECT 1 FROM delivery_wait WHERE delivery = :id"

        static let isHeld = "SELECT 1 FROM delivery WHERE id = :id AND state = 'quiet' AND run_at = :end"

        /// Makes the message due now, and moves its expiry by the same time.
        static let send = "UPDATE delivery SET run_at = :now, expires = expires + (:now - run_at) WHERE id = :id"

        static let holdLonger = "UPDATE delivery SET run_at = :until, expires = expires + (:until - run_at) WHERE id = :id"

        static let silence = """
            UPDATE delivery SET
                state = 'silenced', finished = :now, body = json_set(body, '$.initial', json_object('silence', :silence))
            WHERE id = :id
            """

        static let named = "SELECT id FROM delivery WHERE \(Deliveries.isNamed) AND state = 'quiet'"

        static let ofTask = "SELECT id, rule FROM delivery WHERE state = 'quiet' AND subject = :subject ORDER BY rule, id"

        static let drop = "UPDATE delivery SET state = 'dropped', finished = :now, failure = :failure WHERE id = :id"

        /// The held messages, counted for people.
        static let all = """
            SELECT receiver, run_at, count(*) FROM delivery WHERE state = 'quiet'
            GROUP BY run_at, receiver
            ORDER BY run_at, receiver
            """
    }
}
