extension SQL {
    enum Replays {
        /// Asks to replay an event that still exists. A second request at the same time changes nothing.
        static let insert = """
            INSERT INTO replay (event, rule, forced, at)
            SELECT :event, :rule, :forced, :at WHERE EXISTS (SELECT 1 FROM event WHERE sequence = :event)
            ON CONFLICT (event, at) DO NOTHING
            """

        static let waiting = """
            SELECT \(SQL.Bus.columns), replay.id, replay.rule, replay.forced, replay.at
            FROM replay JOIN event ON event.sequence = replay.event
            ORDER BY replay.id
            LIMIT :limit
            """

        static let remove = "DELETE FROM replay WHERE id = :id"

        /// When the event of a replay happened.
        static let time = "SELECT time FROM event WHERE \(SQL.has("id", ":id"))"
    }
}
