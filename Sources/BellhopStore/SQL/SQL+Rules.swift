extension SQL {
    enum State {
        static let isOfKey = SQL.isNamed(":rule", ":kind", ":key")

        static let read = "SELECT element, value FROM rule_state WHERE \(isOfKey)"

        /// Adds a row unless there is one.
        static let insert = """
            INSERT INTO rule_state (rule, kind, key, element, name_key, value, expires, used, event, subject)
            SELECT :rule, :kind, :key, :element, name_key(:rule, :kind, :key), :value, :expires, :at,
                :value ->> '$.event', :value ->> '$.subject'
            WHERE NOT EXISTS (SELECT 1 FROM rule_state WHERE \(isOfKey) AND element = :element)
            """

        static let update = """
            UPDATE rule_state
            SET value = :value, expires = :expires, used = :at, event = :value ->> '$.event', subject = :value ->> '$.subject'
            WHERE \(isOfKey) AND element = :element AND (:expected IS NULL OR value = :expected)
            """

        /// Leaves the event and the subject of the row, and so their indexes, unchanged.
        static let updateValue = """
            UPDATE rule_state SET value = :value, expires = :expires, used = :at
            WHERE \(isOfKey) AND element = :element AND (:expected IS NULL OR value = :expected)
            """

        static let delete = """
            DELETE FROM rule_state WHERE \(isOfKey) AND element = :element AND (:expected IS NULL OR value = :expected)
            """
    }

    enum Rules {
        /// Deletes the waits, counts and gathered events of a rule, in both modes.
        static let forgetWaits = """
            DELETE FROM rule_state
            WHERE rule IN (:rule, 'shadow/' || :rule) AND kind IN ('hold', 'count', 'group', 'gathered', 'match', 'absence', 'begun')
            """

        /// The runs that a rule waits for, has counted and has gathered, the newest first.
        static let waiting = "\(waits) WHERE rule IN (:rule, 'shadow/' || :rule) AND \(isWaiting) ORDER BY at DESC LIMIT :limit"

        /// The runs whose escalations of a rule are under way. Scans all escalations.
        static let escalating = """
            \(waits) WHERE rule = '' AND kind = 'escalation' AND element = :rule AND \(isWaiting) ORDER BY at DESC LIMIT :limit
            """

        /// The waiting runs about a task.
        static let waitingAbout = "\(waits) WHERE subject = :subject AND \(isWaiting) ORDER BY at DESC LIMIT :limit"

        private static let waits = """
            SELECT rule, kind, key, element, value ->> '$.run' AS run, value ->> '$.at' AS at FROM rule_state
            """

        /// True for a row of a run that still waits. False for a row without an event, one that has run or expired, a part of a run, and
        /// an escalation after its last step. A wait and an escalation have the run's id in `run`; a counted or gathered run has it in
        /// `element`.
        private static let isWaiting = """
            value ->> '$.event' IS NOT NULL AND (expires IS NULL OR expires > :now)
            AND CASE kind
                WHEN 'hold' THEN run IS NOT NULL AND value ->> '$.ran' = 0
                WHEN 'absence' THEN run IS NOT NULL
                WHEN 'count' THEN value ->> '$.part' IS NULL
                WHEN 'escalation' THEN value ->> '$.closes' IS NULL
                ELSE kind IN ('gathered', 'match')
            END
            """

        /// End the escalations of a rule that is removed or turned off, without closing what they opened at pagers. The second scans all
        /// escalations.
        static let forgetEscalations = [
            "DELETE FROM timer WHERE rule = :rule AND kind = 'escalation'",
            "DELETE FROM rule_state WHERE rule = '' AND kind = 'escalation' AND element = :rule",
            "DELETE FROM rule_state WHERE rule = :rule AND kind IN ('escalated', 'steps')",
        ]

        static let former = """
            SELECT rule.name, rule_state.key, rule_state.value
            FROM rule CROSS JOIN rule_state ON rule_state.rule = rule.name AND rule_state.kind = 'steps'
            """

        static let forgetDigest = "DELETE FROM rule_state WHERE rule = :rule AND kind = 'digest'"

        /// Begins the digests of a rule with the present end of the bus.
        static let beginDigest = """
            INSERT INTO rule_state (rule, kind, key, element, name_key, value, used, event)
            SELECT :rule, 'digest', '', '', name_key(:rule, 'digest', ''), :value, 0, :value ->> '$.event'
            WHERE NOT EXISTS (SELECT 1 FROM rule_state WHERE rule = :rule AND kind = 'digest')
            """

        /// Each rule with the timer of its schedule.
        static let all = """
            SELECT rule.name, rule.since, rule.schedule, timer.due, rule.waits, rule.calendars, rule.is_off,
                rule.revision
            FROM rule LEFT JOIN timer ON timer.rule = rule.name AND timer.kind = 'schedule' AND timer.key = ''
            """

        static let lastPlace = "SELECT coalesce(max(sequence), 0) FROM event"

        /// The last place on the bus up to which all events are routed.
        static let lastRouted = """
            SELECT coalesce((SELECT min(sequence) - 1 FROM unrouted), (SELECT max(sequence) FROM event), 0)
            """

        static let insert = """
            INSERT INTO rule (
                name, revision, place, since, schedule, waits, begins_by_itself, is_off, calendars, most_keys, keys, once_keys)
            SELECT :name, :revision, :place, :since, :schedule, :waits, :existing, :off, :calendars, :most,
                count(*) FILTER (WHERE kind <> 'once'), count(*) FILTER (WHERE kind = 'once')
            FROM (
                SELECT DISTINCT rule, kind, key FROM rule_state
                WHERE rule IN (:name, 'shadow/' || :name) AND kind NOT IN ('budget', 'begun'))
            """

        /// Turning a rule off removes the error of its last run.
        static let update = """
            UPDATE rule SET
                revision = :revision, place = :place, schedule = :schedule, waits = :waits, begins_by_itself = :existing,
                is_off = :off, calendars = :calendars, most_keys = :most, last_error = iif(:off, NULL, last_error)
            WHERE name = :name
            """

        /// Makes the waits of a rule due now, so that their due times are computed again. Their state does not expire before.
        static let recompute = [
            """
            UPDATE timer SET due = min(due, :now), payload = json_set(payload, '$.again', json('true'))
            WHERE rule = :rule AND kind IN ('hold', 'absence')
            """,
            """
            UPDATE rule_state SET expires = NULL
            WHERE rule IN (:rule, 'shadow/' || :rule) AND kind IN ('count', 'match')
            """,
        ]

        /// Whether a rule has more keys than it may remember.
        static let overflow = """
            SELECT keys, once_keys, most_keys, escalations FROM rule
            WHERE name = :name AND (keys > most_keys OR once_keys > most_keys OR escalations > most_keys)
            """

        /// The least recently used keys. Reads all keys of the rule, so callers take many at once.
        static let oldestKeys = """
            SELECT rule, kind, key FROM rule_state
            WHERE rule IN (:name, 'shadow/' || :name) AND kind NOT IN ('once', 'budget', 'begun', 'digest', 'escalation', 'escalated', 'steps')
            GROUP BY rule, kind, key
            ORDER BY max(used), rule, kind, key
            LIMIT :count
            """

        /// Deletes the record of the task that began a wait or an absence, together with the wait.
        static let dropKey = [
            """
            DELETE FROM rule_state
            WHERE +rule = :rule AND +kind = 'begun' AND element = :key AND name_key IN (
                SELECT name_key(:rule, 'begun', (value ->> '$.source') || '/' || (value ->> '$.task')) FROM rule_state
                WHERE \(State.isOfKey) AND element = '')
            """,
            "DELETE FROM rule_state WHERE \(State.isOfKey)",
        ]

        static let countDropped = "UPDATE rule SET dropped = dropped + :count WHERE name = :name"

        static let remove = "DELETE FROM rule WHERE name = :name"

        static let tally = """
            UPDATE rule SET
                runs = runs + :runs, errors = errors + :errors, last_error = iif(:error IS NULL AND :runs = 0, last_error, :error),
                last_run = max(coalesce(last_run, :at), :at)
            WHERE name = :name
            """
    }

    enum Pauses {
        static let insert = "INSERT INTO pause (rule, since, why) VALUES (:rule, :since, :why) ON CONFLICT (rule) DO NOTHING"

        static let remove = "DELETE FROM pause WHERE rule = :rule"

        static let all = "SELECT rule, since, why FROM pause ORDER BY rule"

        static let writesArePaused = "SELECT EXISTS (SELECT 1 FROM pause WHERE rule = '')"

        /// A resumed rule does not see the events that came while it was paused.
        static let skipEvents = "UPDATE rule SET since = (\(Rules.lastPlace)) WHERE name = :rule"
    }
}
