extension SQL {
    enum Deliveries {
        static let isKnown = "SELECT 1 FROM delivery WHERE \(isNamed)"

        /// True for the delivery with this name, which is made of its id.
        static let isNamed = SQL.has("name", ":name")

        /// The new delivery is its lane's head if no other delivery of the lane is open.
        static let insert = """
            INSERT INTO delivery
                (name, occasion, rule, step, receiver, action, effect, subject, lane, lane_key, body, coalesces, hop, created, expires,
                 state, head, run_at, finished, receipt, reference, failure)
            VALUES
                (:name, :occasion, :rule, :step, :receiver, :action, :effect, :subject, :lane, :lane_key, :body, :coalesces, :hop,
                 :created, :expires, :state, :state = 'available' AND NOT EXISTS (
                     SELECT 1 FROM delivery
                     WHERE \(isOpenInLane) AND state IN ('available', 'running')),
                 :run_at, :finished, :receipt, :reference, :failure)
            """

        /// `lane_key` finds the rows by the index; two lanes may have the same key.
        static let isOpenInLane = "lane_key = :lane_key AND lane = :lane AND finished IS NULL"

        /// The condition of the index of open deliveries: without it, SQLite does not use that index.
        static let isIndexed = "state <> 'done' AND state <> 'joined'"

        static let isAvailable = "state = 'available' AND \(isIndexed)"

        /// The first receiver with a waiting delivery, due or not.
        static let firstReceiver = "SELECT min(receiver) FROM delivery WHERE \(isAvailable) AND head = 1"

        /// The next receiver with a waiting delivery. One step for each receiver takes little work even if many deliveries wait.
        static let nextReceiver = """
            SELECT min(receiver) FROM delivery WHERE \(isAvailable) AND head = 1 AND receiver > :receiver
            """

        /// The next rule with a delivery that waits for a receiver, due or not, and the time of its first. No rule has an empty name.
        static let nextRule = rules(after: ":rule")

        /// The same while writes to tasks are paused.
        static let nextRuleWithoutWrites = rules(after: ":rule AND effect IS NULL")

        private static func rules(after condition: String) -> String {
            """
            SELECT rule, run_at FROM delivery
            WHERE \(isAvailable) AND head = 1 AND receiver = :receiver AND rule > \(condition)
            ORDER BY rule, run_at
            LIMIT 1
            """
        }

        /// Reads only the heads of lanes, and only the index. (PostgreSQL: FOR UPDATE SKIP LOCKED.)
        static let due = heads(dueAt: ":now")

        /// The same while writes to tasks are paused.
        static let dueWithoutWrites = heads(dueAt: ":now AND effect IS NULL")

        private static func heads(dueAt condition: String) -> String {
            """
            SELECT run_at, id FROM delivery
            WHERE \(isAvailable) AND head = 1 AND receiver = :receiver AND rule = :rule AND run_at <= \(condition)
            ORDER BY run_at, id
            LIMIT :limit
            """
        }

        /// A delivery that was due, unless another has become the head of its lane since.
        static let claimable = """
            SELECT \(identity), name, attempts, lease, first_started, uncertain_started FROM delivery WHERE id = :id AND head = 1
            """

        static let start = """
            UPDATE delivery SET
                state = 'running', attempts = attempts + 1, lease = :lease, lease_node = :node, lease_until = :until,
                started = :now,
                first_started = coalesce(first_started, :now), paused = 0
            WHERE id = :id
            """

        /// The references of other writes to a task.
        static let written = """
            SELECT reference FROM delivery
            WHERE subject = :subject AND effect = 'writes' AND reference IS NOT NULL AND id <> :id
            """

        /// The references of the records that other deliveries created at a receiver since a time.
        static let made = """
            SELECT reference FROM delivery
            WHERE receiver = :receiver AND effect = 'makes' AND finished >= :since AND reference IS NOT NULL AND id <> :id
            """

        /// The deliveries that wrote (or may have written) to a task, or created it: which fields an update set.
        static let writes = """
            SELECT hop, effect, iif(action = 'update', json_extract(body, '$.values.fields'), NULL) FROM delivery
            WHERE subject = :subject AND effect = 'writes'
                AND (state = 'running' OR (state = 'done' AND finished >= :since) OR uncertain_started >= :since)
            UNION ALL
            SELECT hop, effect, NULL FROM delivery
            WHERE reference = :subject AND effect = 'makes' AND state = 'done' AND finished >= :since
            """

        /// The comments among these writes, with their text. A comment that was definitely refused was never written.
        static let comments = """
            SELECT reference, json_extract(body, '$.values.text'), hop, name FROM delivery
            WHERE subject = :subject AND effect = 'writes' AND action = 'comment'
                AND (state = 'running' OR (state = 'done' AND finished >= :since) OR uncertain_started >= :since)
            """

        /// The first message of a delivery's conversation, whether a newer one was sent, whether the latest closed the conversation, and
        /// whether the first shows a newer one. Compares times too, because an id may be reused after its delivery is deleted.
        static let conversation = """
            SELECT first_message, latest > :id AND used >= :created, is_closed, shown > :id AND used >= :created
            FROM conversation
            WHERE receiver = :receiver AND conversation = :conversation
            """

        /// Records that a message of a conversation was sent. If it was made after the latest one, but has a lower id, the ids are reused, and
        /// the first message shows a delivery that was before all present ones.
        static let keepConversation = """
            INSERT INTO conversation (receiver, conversation, first_message, shown, latest, is_closed, used)
            VALUES (:receiver, :conversation, :first_message, :id, :id, :closes, :at)
            ON CONFLICT (receiver, conversation) DO UPDATE SET
                first_message = iif(:closes, NULL, coalesce(:first_message, first_message)),
                shown = iif(:updates OR :first_message IS NOT NULL OR is_closed, :id, iif(:id < shown AND :created > used, 0, shown)),
                latest = iif(:id > latest OR :created > used, :id, latest),
                is_closed = :closes, used = :at
            """

        /// True for the delivery of a lease while the lease holds. The name is compared because another delivery may have got the row.
        private static let isLeased = "id = :id AND state = 'running' AND lease = :lease AND name = :name"

        static let done = """
            UPDATE delivery SET
                state = 'done', head = 0, lease_until = NULL, finished = :at, receipt = :receipt, reference = :reference
            WHERE \(isLeased)
            """

        static let join = """
            UPDATE delivery SET state = 'joined', head = 0, finished = :at, receipt = :receipt, reference = :reference
            WHERE id = :id
            """

        static let retry = """
            UPDATE delivery SET
                state = 'available', lease_until = NULL, run_at = :run_at, failure = :failure,
                uncertain_started = iif(:uncertain, started, uncertain_started)
            WHERE \(isLeased)
            """

        /// Does not count the attempt: if it was the first and nothing can have been received, the next one is the first again. A
        /// person's retry restarts the count, but not these facts.
        static let pause = """
            UPDATE delivery SET
                state = 'available', lease_until = NULL, run_at = :run_at, failure = :failure, paused = 1, attempts = attempts - 1,
                uncertain_started = iif(:uncertain, started, uncertain_started),
                first_started = iif(attempts = 1 AND first_started = started AND NOT :uncertain, NULL, first_started)
            WHERE \(isLeased)
            """

        /// Does not count the attempt, and keeps the delivery's place in the receiver's queue.
        static let postpone = """
            UPDATE delivery SET
                state = 'available', lease_until = NULL, failure = :failure, attempts = attempts - 1,
                uncertain_started = iif(:uncertain, started, uncertain_started),
                first_started = iif(attempts = 1 AND first_started = started AND NOT :uncertain, NULL, first_started)
            WHERE \(isLeased)
            """

        static let stop = """
            INSERT INTO stop (receiver, cause, since, until, interval, reason)
            VALUES (:receiver, :cause, :since, :until, :interval, :reason)
            ON CONFLICT (receiver, cause) DO UPDATE SET since = :since, until = :until, interval = :interval, reason = :reason
            """

        /// Adds a pause. It changes neither a pause in force nor one after a refusal that a person has ended meanwhile. A person's own
        /// pause always takes effect, even if the clock was set back.
        static let pauseReceiver = """
            INSERT INTO stop (receiver, cause, since, until, interval, reason)
            VALUES (:receiver, :cause, :since, :until, :interval, :reason)
            ON CONFLICT (receiver, cause) DO UPDATE SET since = :since, until = NULL, interval = :interval, reason = :reason
                WHERE until IS NOT NULL AND (until <= :since OR cause = 'person')
            """

        static let resumeReceiver = "UPDATE stop SET since = :now, until = :now WHERE receiver = :receiver AND until IS NULL"

        /// Stores a resumption even if no pause is stored: a pause may be stored a moment later.
        static let resumption = """
            INSERT INTO stop (receiver, cause, since, until, interval, reason) VALUES (:receiver, 'refusal', :now, :now, 0, '')
            ON CONFLICT (receiver, cause) DO UPDATE SET since = :now, until = :now
            """

        /// Corrects stops that began, and resumptions that were made, while the clock was ahead: each lasts as long as it would have.
        static let advanceStops = """
            UPDATE stop SET since = :now, until = :now + (until - since) WHERE since > :now
            """

        /// All stops, without the pauses that a person ended.
        static let stops = """
            SELECT receiver, cause, since, until, interval, reason FROM stop
            WHERE until IS NULL OR cause NOT IN ('refusal', 'person')
            """

        static let subject = "SELECT subject FROM delivery WHERE id = :id"

        /// Ends the delivery without success, as `dead` or `held`.
        static let end = """
            UPDATE delivery SET
                state = :state, head = 0, lease_until = NULL, finished = :at, failure = :failure,
                uncertain_started = iif(:uncertain, started, uncertain_started)
            WHERE \(isLeased)
            """

        /// Ends the delivery as `dead` without an attempt.
        static let endUnattempted = """
            UPDATE delivery SET
                state = 'dead', head = 0, bars = 0, finished = :now, receipt = NULL, reference = NULL, failure = :failure
            WHERE id = :id
            """

        /// Makes the lane's first open delivery its head. Skips deliveries behind a waiting delivery of their own rule.
        static let promote = """
            UPDATE delivery SET head = 1
            WHERE id = (
                SELECT id FROM delivery
                WHERE \(isOpenInLane) AND state IN ('available', 'running')
                    AND \(isNotBarred)
                ORDER BY id
                LIMIT 1)
            """

        static let isNotBarred = """
            NOT EXISTS (
                SELECT 1 FROM delivery AS bar
                WHERE bar.lane = :lane AND bar.rule = delivery.rule AND bar.bars = 1 AND bar.id < delivery.id)
            """

        static let rescue = """
            UPDATE delivery SET
                state = 'available', lease_until = NULL, run_at = :now, uncertain_started = min(started, :now),
                failure = :failure
            WHERE state = 'running' AND \(isIndexed) AND (lease_until <= :now OR lease_node = :node)
            RETURNING occasion, rule, step, receiver, action, subject, lease
            """

        /// Makes deliveries due now that were created or last tried while the clock was ahead.
        static let advance = """
            UPDATE delivery SET run_at = :now
            WHERE \(isAvailable) AND run_at > :now AND (created > :now OR started > :now)
            """

        /// The other side may work on a request that was sent while the clock was ahead for as long as on one sent now, not until that
        /// time has come.
        static let advanceUncertain = """
            UPDATE delivery SET uncertain_started = :now
            WHERE state IN ('available', 'held') AND \(isIndexed) AND uncertain_started > :now
            """

        static let wake = """
            UPDATE delivery SET run_at = :now, paused = 0 WHERE paused = 1 AND receiver = :receiver AND run_at > :now
            """

        /// Makes deliveries due that wait only for their next attempt, except for the time that the receiver itself asked for.
        static let endBackoff = """
            UPDATE delivery SET
                run_at = min(
                    run_at,
                    max(:now, coalesce(started + CASE WHEN json_valid(failure) THEN failure ->> '$.after' END, :now)))
            WHERE \(isAvailable) AND head = 1 AND receiver = :receiver AND run_at > :now AND attempts > 0 AND paused = 0
            """

        static let firstLeaseEnd = "SELECT min(lease_until) FROM delivery WHERE state = 'running' AND \(isIndexed)"

        static let place = "SELECT id, lane, state FROM delivery WHERE \(isNamed)"

        /// A manual retry resets the count of attempts that the retry policy limits, but keeps when an attempt may have been received. A
        /// delivery that waits for its next attempt keeps its count: nobody was asked to look whether it was received, and a write whose
        /// count starts anew counts as decided by a person who has looked.
        static let retryAnew = """
            UPDATE delivery SET
                state = 'available', head = 0, run_at = :now, paused = 0, expires = NULL, finished = NULL,
                attempts = iif(state = 'available', attempts, 0)
            WHERE id = :id
            """

        static let drop = """
            UPDATE delivery SET state = 'dropped', head = 0, bars = 0, paused = 0, finished = :now WHERE id = :id
            """

        static let editable = "SELECT id, body, action, step FROM delivery WHERE \(isNamed) AND state IN ('dead', 'held')"

        static let edit = "UPDATE delivery SET body = :body, coalesces = :coalesces WHERE id = :id"

        static let laneRuns = "SELECT 1 FROM delivery WHERE \(isOpenInLane) AND state = 'running'"

        static let demote = """
            UPDATE delivery SET head = 0 WHERE \(isOpenInLane) AND state IN ('available', 'running') AND head = 1
            """

        /// The columns that identify a delivery, in the order in which `DeliveryRow` reads them.
        static let identity = "occasion, rule, step, receiver, action, effect, lane, body, hop, created, expires, run_at"
    }
}
