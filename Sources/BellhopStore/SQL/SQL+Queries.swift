extension SQL {
    enum Queries {
        /// The scope that each source was last opened with.
        static let sources = """
            SELECT source, instance, user, kind, query, turn, committed, health,
                (SELECT count(*) FROM task WHERE task.scope = scope.id)
            FROM scope
            WHERE opened = (SELECT max(opened) FROM scope AS other WHERE other.source = scope.source)
            ORDER BY source
            """

        /// The rules with their statistics. The due time of a rule's next timer is known only if the rule has few timers or a schedule.
        static let rules = """
            SELECT name, runs, errors, last_error, last_run,
                coalesce(
                    (SELECT iif(count(*) > :most, NULL, min(due))
                    FROM (SELECT due FROM timer WHERE timer.rule = rule.name LIMIT :most + 1)),
                    (SELECT due FROM timer WHERE timer.rule = rule.name AND kind = 'schedule' AND key = '')), is_off,
                dropped
            FROM rule
            ORDER BY name
            """

        /// How many waits, counts, groups, sequences and absences each rule has, in both modes. Each number is at most `:most + 1`.
        /// (PostgreSQL: the same.)
        static let waits = """
            SELECT name, \(timers("hold")), \(pieces("count")), \(timers("group")), \(pieces("gathered")), \(pieces("match")),
                \(timers("absence"))
            FROM rule
            WHERE waits IS NOT NULL
            ORDER BY name
            """

        static let escalations = "SELECT name, \(timers("escalation")) FROM rule ORDER BY name"

        /// The number of timers of a rule and the first due time, from at most `:most + 1` of them.
        private static func timers(_ kind: String) -> String {
            let found = "FROM timer WHERE timer.rule = name AND kind = '\(kind)' LIMIT :most + 1"
            return "(SELECT count(*) FROM (SELECT 1 \(found))), (SELECT min(due) FROM (SELECT due \(found)))"
        }

        /// True for a piece that has not expired. Expired pieces stay until they are pruned.
        private static let isKept = "(expires IS NULL OR expires > :now)"

        /// The number of pieces of a rule's state, at most `:most + 1`.
        private static func pieces(_ kind: String) -> String {
            """
            (SELECT count(*) FROM (
                SELECT 1 FROM rule_state
                WHERE rule_state.rule IN (name, 'shadow/' || name) AND kind = '\(kind)' AND \(isKept)
                LIMIT :most + 1))
            """
        }

        /// The next timers except those of schedules, in the order in which they come due, with their subjects. A wait's subject is in its
        /// state; for a rule with `each`, that is the piece of the window whose element is the timer's key.
        static let upcoming = """
            SELECT timer.rule, timer.kind, timer.key, timer.due, timer.payload,
                coalesce(timer.payload ->> '$.subject', \(wait("timer.rule", "timer.key", "''")),
                    \(wait("timer.rule", "''", "timer.key")), \(wait("'shadow/' || timer.rule", "timer.key", "''")),
                    \(wait("'shadow/' || timer.rule", "''", "timer.key"))),
                CASE timer.kind WHEN 'group' THEN (
                    SELECT count(*) FROM rule_state
                    WHERE name_key IN (
                            name_key(timer.rule, 'gathered', timer.key), name_key('shadow/' || timer.rule, 'gathered', timer.key))
                        AND +rule IN (timer.rule, 'shadow/' || timer.rule) AND +kind = 'gathered' AND key = timer.key) END
            FROM timer
            WHERE timer.kind NOT IN ('schedule', 'existing')
            ORDER BY timer.due, timer.id
            LIMIT :limit
            """

        private static func wait(_ rule: String, _ key: String, _ element: String) -> String {
            "(SELECT subject FROM rule_state WHERE \(isNamed(rule, "'hold'", key)) AND element = \(element))"
        }

        static let upcomingCount = """
            SELECT count(*) FROM (SELECT 1 FROM timer WHERE kind NOT IN ('schedule', 'existing') LIMIT :most + 1)
            """

        /// The number of a task, by the index of each scope.
        static let number = """
            SELECT task.snapshot ->> '$.number' FROM scope CROSS JOIN task ON task.scope = scope.id AND task.key = :key LIMIT 1
            """

        /// The first keys of a rule's counts. An index gives the rows in this order, so only the rows shown and expired ones are read.
        static let counts = """
            SELECT key, count(*) FROM rule_state WHERE rule = :rule AND kind = 'count' AND \(isKept)
            GROUP BY key ORDER BY key LIMIT :limit
            """

        /// How many deliveries wait for each receiver, and the oldest that waits or is under way, oldest first. A receiver may have several
        /// rows: the deliveries are counted in the order of the index, which alone is read. A message that a quiet time held has waited
        /// since its release, where its first attempt was due; its body may be unreadable.
        static let backlog = """
            SELECT open.receiver, iif(open.state = 'available', number, 0),
                iif(CASE WHEN json_valid(body) THEN body ->> '$.initial.quiet' END IS NULL, created, coalesce(first_started, run_at)),
                failure, first_started, iif(open.state = 'available' AND failure IS NOT NULL, run_at, NULL)
            FROM (
                SELECT receiver, state, count(*) AS number, min(id) AS oldest FROM delivery
                WHERE state IN ('available', 'running') AND \(Deliveries.isIndexed)
                GROUP BY state, head, receiver
            ) AS open
            CROSS JOIN delivery ON delivery.id = oldest
            ORDER BY oldest
            """

        static let openDeliveries = "SELECT state, count(*) FROM delivery WHERE \(Deliveries.isIndexed) GROUP BY state"

        /// How many deliveries joined others, by the state of the one that they joined; NULL if it is no longer stored. (PostgreSQL:
        /// `decode(reference, 'hex')`.)
        static let joinedCounts = """
            SELECT carrier.state, sum(number)
            FROM (
                SELECT packed(reference) AS name, count(*) AS number FROM delivery WHERE state = 'joined' GROUP BY reference
            ) AS joined
            LEFT JOIN delivery AS carrier ON \(SQL.has("carrier.name", "joined.name"))
            GROUP BY carrier.state
            """

        /// The dead and held deliveries, counted by state, receiver and reason.
        static let undecided = """
            SELECT state, receiver, json_extract(failure, '$.reason') AS reason, count(*) AS number FROM delivery
            WHERE state IN ('dead', 'held') AND \(Deliveries.isIndexed)
            GROUP BY state, receiver, reason
            ORDER BY state, receiver, number DESC, reason
            """

        static let deliveryCount = "SELECT count(*) FROM delivery"

        static let eventCount = "SELECT count(*) FROM event"

        static let unroutedCount = "SELECT count(*) FROM unrouted"

        /// Newest first; the caller reverses them.
        static let events = "\(eventRows) WHERE sequence <= \(through) AND \(eventFilter) ORDER BY sequence DESC LIMIT :limit"

        /// Oldest first: a page of the events after a place.
        static let eventsAfter = """
            \(eventRows)
            WHERE sequence > :after AND sequence <= \(through) AND \(eventFilter)
            ORDER BY sequence
            LIMIT :limit
            """

        /// The event with this whole id, by the index of ids.
        static let event = """
            \(eventRows)
            WHERE \(SQL.has("id", ":key")) AND (:after IS NULL OR sequence > :after) AND sequence <= \(through) AND \(eventFilter)
            LIMIT :limit
            """

        /// The place of the event, as first and last.
        static let eventPlace = """
            SELECT sequence, sequence FROM event
            WHERE \(SQL.has("id", ":key")) AND sequence <= \(through) AND \(eventFilter) LIMIT :limit
            """

        /// The first and the last place of the newest events.
        static let eventSpan = """
            SELECT min(sequence), max(sequence)
            FROM (
                SELECT sequence FROM event WHERE sequence <= \(through) AND \(eventFilter)
                ORDER BY sequence DESC LIMIT :limit)
            """

        static let digest = "\(eventRows) WHERE \(digestFilter) ORDER BY sequence DESC LIMIT :limit"

        static let digestCount = "SELECT count(*) FROM event WHERE \(digestFilter)"

        private static let digestFilter = """
            sequence > :after AND sequence < :before AND type IN (SELECT value FROM json_each(:types))
                AND (:sources IS NULL OR source IN (SELECT value FROM json_each(:sources)))
            """

        /// The newest events by hour. (PostgreSQL: the same.)
        static let eventHours = hours("SELECT time AS at, '' AS state FROM event ORDER BY sequence DESC")

        /// The newest deliveries by hour and state. (PostgreSQL: the same.)
        static let deliveryHours = hours("SELECT created AS at, state FROM delivery ORDER BY id DESC")

        private static func hours(_ newest: String) -> String {
            """
            SELECT at / 3600000000 AS hour, count(*), state FROM (\(newest) LIMIT :limit)
            WHERE at >= :since
            GROUP BY hour, state
            ORDER BY hour, state
            """
        }

        /// The last place of a query; by default the largest integer.
        private static let through = "coalesce(:through, 9223372036854775807)"

        static let eventRows = "SELECT \(SQL.Bus.columns) FROM event"

        /// `:types` and `:sources` are JSON arrays. (PostgreSQL: real arrays, `= ANY`.)
        private static let eventFilter = """
            (:types IS NULL OR type IN (SELECT value FROM json_each(:types)))
                AND (:sources IS NULL OR source IN (SELECT value FROM json_each(:sources)))
                AND (:since IS NULL OR time >= :since)
                AND (:task IS NULL OR subject = :task OR substr(subject, -length(:task) - 1) = '/' || :task
                    OR json_extract(data, '$.task.number') = :task)
                AND (:id IS NULL OR iif(typeof(id) = 'blob', lower(hex(id)), id) LIKE :id ESCAPE '\\')
            """

        /// Newest first; the caller reverses them.
        static let deliveries = "\(deliveryRows) WHERE id <= \(through) AND \(deliveryFilter) ORDER BY id DESC LIMIT :limit"

        /// Oldest first: a page of the deliveries after a place.
        static let deliveriesAfter = """
            \(deliveryRows)
            WHERE id > :after AND id <= \(through) AND \(deliveryFilter)
            ORDER BY id
            LIMIT :limit
            """

        /// The delivery with this whole id, by the index of names.
        static let delivery = "\(deliveryRows) WHERE \(Deliveries.isNamed) AND \(deliveryFilter) LIMIT :limit"

        static let joined = "SELECT state, failure FROM delivery WHERE \(Deliveries.isNamed)"

        /// The place of the delivery, as first and last.
        static let deliveryPlace = "SELECT id, id FROM delivery WHERE \(Deliveries.isNamed) AND \(deliveryFilter) LIMIT :limit"

        /// The first and the last place of the newest deliveries.
        static let deliverySpan = """
            SELECT min(id), max(id)
            FROM (SELECT id FROM delivery WHERE id <= \(through) AND \(deliveryFilter) ORDER BY id DESC LIMIT :limit)
            """

        /// The same queries for states that only few deliveries have: they read the index of open deliveries, so that those that are done
        /// cost nothing. They find the ids first, so that sorting does not copy bodies.
        static let fewDeliveries = "\(deliveryRows) WHERE id IN (\(newestFew)) ORDER BY id DESC"

        static let fewDeliveriesAfter = """
            \(deliveryRows)
            WHERE id IN (\(few) AND id > :after AND id <= \(through) AND \(deliveryConditions) ORDER BY id LIMIT :limit)
            ORDER BY id
            """

        static let fewDeliveriesSpan = "SELECT min(id), max(id) FROM (\(newestFew))"

        /// How many deliveries have these states, at most `:limit`.
        static let stateCount = "SELECT count(*) FROM (\(few) LIMIT :limit)"

        private static let newestFew = """
            \(few) AND id <= \(through) AND \(deliveryConditions) ORDER BY id DESC LIMIT :limit
            """

        private static let few = """
            SELECT id FROM delivery INDEXED BY delivery_open
            WHERE state IN (SELECT value FROM json_each(:states)) AND \(Deliveries.isIndexed)
            """

        static let deliveryRows = """
            SELECT \(Deliveries.identity), state, lease, finished, receipt, reference, failure, id, first_started, started
            FROM delivery
            """

        private static let deliveryFilter = """
            (:states IS NULL OR state IN (SELECT value FROM json_each(:states))) AND \(deliveryConditions)
            """

        private static let deliveryConditions = """
            (:rule IS NULL OR rule = :rule)
                AND (:receiver IS NULL OR receiver = :receiver)
                AND (:since IS NULL OR created >= :since)
                AND (:reason IS NULL OR json_extract(failure, '$.reason') = :reason)
                AND (:occasion IS NULL OR occasion = :occasion)
                AND (:id IS NULL OR lower(hex(name)) LIKE :id ESCAPE '\\')
            """
    }
}
