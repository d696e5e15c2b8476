extension SQL {
    /// Deliveries, decisions and later events that some events caused. Each statement passes once over a table, or uses an index. `:ids`,
    /// `:subjects`, `:places` and `:names` are JSON arrays.
    enum History {
        static let unrouted = "SELECT sequence FROM unrouted WHERE sequence IN (SELECT value FROM json_each(:places))"

        /// The deliveries for these events, and the deliveries about these subjects from timers and elements of lists. (PostgreSQL:
        /// `split_part`.)
        static let deliveries = """
            \(Queries.deliveryRows)
            WHERE \(isForEvents) OR (
                (occasion LIKE 'timer/%' OR occasion LIKE 'element/%') AND subject IN (SELECT value FROM json_each(:subjects)))
            ORDER BY id DESC
            LIMIT :limit
            """

        /// Whether an occasion is a run for one of these events, for an element or a replay of one, for a timer that one began, or for an
        /// escalation of such a run. It parses the occasion, so that its time does not grow with the number of events.
        private static let isForEvents = """
            CASE substr(occasion, 1, instr(occasion, '/') - 1)
                WHEN 'timer' THEN \(isTimer("occasion"))
                WHEN 'escalation' THEN CASE substr(\(run), 1, instr(\(run), '/') - 1)
                    WHEN 'timer' THEN \(isTimer(run))
                    ELSE \(isEvent(run)) END
                ELSE \(isEvent("occasion"))
            END
            """

        /// The run that began an escalation: the part after its step and its repetition.
        private static let run = rest(rest(rest("occasion")))

        /// Whether the part after the kind of the occasion is one of these events.
        private static func isEvent(_ occasion: String) -> String {
            let rest = rest(occasion)
            return "substr(\(rest), 1, instr(\(rest) || '/', '/') - 1) IN (SELECT value FROM json_each(:ids))"
        }

        /// Whether the event that began the timer, or the last one before the silence, is one of these. Its place follows the due time,
        /// which follows the kind and the rule.
        private static func isTimer(_ occasion: String) -> String {
            let rest = rest(rest(rest(occasion)))
            let due = "substr(\(rest), 1, instr(\(rest), '/') - 1)"
            let place = "substr(\(due), max(instr(\(due), '-'), instr(\(due), '+')) + 1)"
            return "CAST(\(place) AS INTEGER) IN (SELECT value FROM json_each(:places))"
        }

        /// The part after the first slash.
        private static func rest(_ text: String) -> String { "substr(\(text), instr(\(text), '/') + 1)" }

        /// The records of why rules stopped at an event, by the index of occasions.
        static let decisionsOfEvent = "\(decisionRows) WHERE occasion = :occasion"

        /// The row id is the order in which they were made.
        private static let decisionRows = "SELECT rule, verdict, number, occasion, at, detail, rowid FROM decision"

        /// The same records for the elements, replays, timers and escalations of these events, but not for the events themselves.
        static let decisions = """
            \(decisionRows)
            WHERE (occasion >= 'element/' AND occasion < 'event/' OR occasion >= 'event0' AND occasion < 'timer0')
                AND \(isForEvents)
            """

        /// The waits under these keys that had begun. They explain a later event that continued a wait, without the events between.
        static let waits = """
            \(decisionRows)
            WHERE verdict = 'waiting' AND at <= :until AND detail ->> '$.key' IN (SELECT value FROM json_each(:keys))
            """

        /// The attempts of these deliveries, and the changes and pauses of rules.
        static let audit = """
            SELECT number, at, entry, hash FROM audit
            WHERE at >= :since AND entry <> '' AND (
                entry ->> '$.delivery' IN (SELECT value FROM json_each(:names))
                OR entry ->> '$.act' IN ('reload', 'pause', 'resume'))
            ORDER BY number
            LIMIT :limit
            """

        /// The events that an event caused, by the index of causes.
        static let caused = "\(Queries.eventRows) WHERE cause = :cause ORDER BY sequence LIMIT :limit"

        static let event = "\(Queries.eventRows) WHERE \(SQL.has("id", ":id"))"

        /// The rules that may have a silence.
        static let beginning = "SELECT name FROM rule WHERE begins_by_itself = 1"

        static let rules = "SELECT name, revision, since FROM rule ORDER BY name"
    }
}
