extension SQL {
    enum Bus {
        static let insert = """
            INSERT INTO event (id, type, source, subject, time, hop, data)
            VALUES (:id, :type, :source, :subject, :time, :hop, :data)
            ON CONFLICT (id) DO NOTHING
            """

        /// Marks the events of a run of sequences, which one writer's transaction fills without gaps. (PostgreSQL's sequences have
        /// gaps and other writers' rows between them: there each insert marks its own row.)
        static let markUnrouted = """
            WITH RECURSIVE place (sequence) AS (
                VALUES (:first) UNION ALL SELECT sequence + 1 FROM place WHERE sequence < :last
            )
            INSERT INTO unrouted (sequence) SELECT sequence FROM place
            """

        static let unrouted = """
            SELECT event.sequence, event.id, event.type, event.source, event.subject, event.time, event.hop, event.data
            FROM unrouted JOIN event ON event.sequence = unrouted.sequence
            ORDER BY unrouted.sequence
            LIMIT :limit
            """

        static let markRouted = "DELETE FROM unrouted WHERE sequence BETWEEN :first AND :last"
    }

    enum State {
        static let read = "SELECT element, value FROM rule_state WHERE rule = :rule AND kind = :kind AND key = :key"

        /// Unless `:any`, changes no existing row.
        static let set = """
            INSERT INTO rule_state (rule, kind, key, element, value, expires)
            VALUES (:rule, :kind, :key, :element, :value, :expires)
            ON CONFLICT (rule, kind, key, element) DO UPDATE SET value = excluded.value, expires = excluded.expires WHERE :any
            """

        static let replace = """
            UPDATE rule_state SET value = :value, expires = :expires
            WHERE rule = :rule AND kind = :kind AND key = :key AND element = :element AND value = :expected
            """

        static let delete = """
            DELETE FROM rule_state
            WHERE rule = :rule AND kind = :kind AND key = :key AND element = :element AND (:expected IS NULL OR value = :expected)
            """
    }

    enum Rules {
        static let all = "SELECT name, since, schedule, due FROM rule"

        static let lastPlace = "SELECT coalesce(max(sequence), 0) FROM event"

        static let insert = """
            INSERT INTO rule (name, revision, since, schedule, due, is_off)
            VALUES (:name, :revision, :since, :schedule, :due, :off)
            """

        /// The error of a rule's last run says nothing of one that is turned off.
        static let update = """
            UPDATE rule SET
                revision = :revision, schedule = :schedule, due = :due, is_off = :off, last_error = iif(:off, NULL, last_error)
            WHERE name = :name
            """

        static let remove = "DELETE FROM rule WHERE name = :name"

        static let nextDue = "SELECT min(due) FROM rule"

        static let due = "SELECT name, due FROM rule WHERE due <= :now ORDER BY due, name"

        static let fire = "UPDATE rule SET due = :next WHERE name = :name AND due = :due"

        static let tally = """
            UPDATE rule SET
                runs = runs + :runs, errors = errors + :errors, last_error = iif(:error IS NULL AND :runs = 0, last_error, :error),
                last_run = max(coalesce(last_run, :at), :at)
            WHERE name = :name
            """
    }
}
