extension SQL {
    /// What was made of some events. Each is one pass over a table, or a look in an index. `:ids`, `:subjects`, `:places` and `:names` are
    /// JSON arrays.
    enum History {
        static let unrouted = "SELECT sequence FROM unrouted WHERE sequence IN (SELECT value FROM json_each(:places))"

        /// The deliveries for these events, and those for these subjects that timers made. The id of a timer's occasion ends with the
        /// place of the event that began it.
        static let deliveries = """
            \(Looking.deliveryRows)
            WHERE \(occasionEvent) IN (SELECT value FROM json_each(:ids))
                OR (occasion LIKE 'timer/%' AND (subject IN (SELECT value FROM json_each(:subjects))
                    OR EXISTS (SELECT 1 FROM json_each(:places) WHERE instr(occasion, '-' || value || '/'))))
                OR (occasion LIKE 'escalation/%'
                    AND EXISTS (SELECT 1 FROM json_each(:ids) WHERE instr(occasion, '/' || value)))
            ORDER BY id DESC
            LIMIT :limit
            """

        /// The event in the occasion of a run for an event, an element or a replay.
        private static let occasionEvent = """
            CASE substr(occasion, 1, instr(occasion, '/') - 1)
                WHEN 'event' THEN substr(occasion, 7)
                WHEN 'element' THEN substr(occasion, 9, instr(substr(occasion, 9), '/') - 1)
                WHEN 'replay' THEN substr(occasion, 8, instr(substr(occasion, 8), '/') - 1)
            END
            """

        /// What stopped rules at an event, by the index of occasions.
        static let decisionsOfEvent = """
            SELECT rule, verdict, number, occasion, at, detail FROM decision WHERE occasion = :occasion ORDER BY at, rule, number
            """

        /// The same at the elements, replays and timers of these events.
        static let decisions = """
            SELECT rule, verdict, number, occasion, at, detail FROM decision
            WHERE occasion >= 'element/' AND occasion < 'timer0' AND (
                \(occasionEvent) IN (SELECT value FROM json_each(:ids))
                OR (occasion LIKE 'escalation/%' AND EXISTS (SELECT 1 FROM json_each(:ids) WHERE instr(occasion, '/' || value)))
                OR EXISTS (SELECT 1 FROM json_each(:places) WHERE instr(occasion, '-' || value || '/')))
                AND occasion NOT LIKE 'event/%'
            ORDER BY at, rule, number
            """

        /// The attempts of these deliveries, and what changed rules.
        static let audit = """
            SELECT number, at, entry, hash FROM audit
            WHERE at >= :since AND entry <> '' AND (
                entry ->> '$.delivery' IN (SELECT value FROM json_each(:names))
                OR entry ->> '$.act' = 'reload')
            ORDER BY number
            LIMIT :limit
            """

        static let caused = """
            \(Looking.eventRows)
            WHERE sequence > :first AND cause IS NOT NULL
                AND iif(typeof(cause) = 'blob', lower(hex(cause)), cause) IN (SELECT value FROM json_each(:ids))
            ORDER BY sequence
            LIMIT :limit
            """

        static let rules = "SELECT name, revision, since FROM rule ORDER BY name"
    }
}
