import BellhopCore

/// The database schema. Released text is never changed: a new version is a new migration.
enum Schema {
    /// Marks a file as a Bellhop store: the bytes of `BHP8`.
    static let application: Int64 = 0x4248_5038

    /// Marked the stores of builds before the first release: the bytes of `BELL`, `BHOP`, and `BHP1` to `BHP7`.
    static let applicationsBeforeRelease: [Int64] = [
        0x4245_4c4c, 0x4248_4f50, 0x4248_5031, 0x4248_5032, 0x4248_5033, 0x4248_5034, 0x4248_5035, 0x4248_5036, 0x4248_5037,
    ]

    /// One step from each version to the next, the first from an empty file; `user_version` counts the steps taken.
    static let migrations = [first]

    /// The version this program works with.
    static let version = Int64(migrations.count)

    private static let first = """
        -- The scopes of the sources: each an instance, user, kind and query, and the state stored for them.
        CREATE TABLE scope (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            source TEXT NOT NULL,
            instance TEXT NOT NULL,
            user TEXT NOT NULL,
            kind TEXT NOT NULL,
            query TEXT NOT NULL,
            opened INTEGER NOT NULL,
            turn INTEGER NOT NULL DEFAULT 0,          -- polls that were committed
            committed INTEGER,                        -- when the latest of them was
            cursor TEXT,
            answer BLOB,
            definitions TEXT,                         -- of the fields
            health TEXT NOT NULL
        ) STRICT;

        -- The present tasks; id is the order in which listings first showed them.
        CREATE TABLE task (
            id INTEGER PRIMARY KEY,
            scope INTEGER NOT NULL,
            key ANY NOT NULL,                         -- 32 hexadecimal digits as 16 bytes, anything else as text
            listed BLOB NOT NULL,
            content BLOB NOT NULL,
            revision INTEGER NOT NULL,                -- of the definitions by which it was read
            generation INTEGER NOT NULL,
            refreshed INTEGER,
            snapshot TEXT NOT NULL,
            UNIQUE (scope, key)
        ) STRICT;

        -- The tasks that left, so that one that comes back counts as returned, not as created.
        CREATE TABLE departed (
            scope INTEGER NOT NULL,
            key ANY NOT NULL,
            generation INTEGER NOT NULL,
            removed INTEGER NOT NULL,
            reason TEXT NOT NULL,
            snapshot TEXT NOT NULL,
            PRIMARY KEY (scope, key)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX departed_removed ON departed (removed);

        -- The bus. The event with the highest sequence is never pruned, so that no sequence is used twice.
        CREATE TABLE event (
            sequence INTEGER PRIMARY KEY,
            id ANY NOT NULL,                          -- unique: each is looked for before it is added
            type TEXT NOT NULL,
            source TEXT NOT NULL,
            subject TEXT NOT NULL,
            time INTEGER NOT NULL,
            hop INTEGER NOT NULL,
            data TEXT NOT NULL,
            cause ANY                                 -- the event whose run of a rule emitted it
        ) STRICT;

        CREATE INDEX event_id ON event (substr(id, 1, 6));
        -- To find what an event led to. Few events have a cause, and the others are not in this index.
        CREATE INDEX event_cause ON event (cause) WHERE cause IS NOT NULL;
        -- To find the events of schedules that are not routed yet, however many others are before them.
        CREATE INDEX event_schedule ON event (type) WHERE type = 'schedule_due';

        -- The events that are not routed yet. A separate table, so that routing an event does not rewrite its row.
        CREATE TABLE unrouted (sequence INTEGER PRIMARY KEY) STRICT;

        -- The events that people had routed again, until that is done.
        CREATE TABLE replay (
            id INTEGER PRIMARY KEY,
            event INTEGER NOT NULL,                   -- not pruned meanwhile
            rule TEXT,                                -- the only rule that sees it; NULL for all
            forced INTEGER NOT NULL,                  -- 1 if `once` and `throttle` stop nothing
            at INTEGER NOT NULL,
            UNIQUE (event, at)
        ) STRICT;

        -- The deliveries; id is the order in which those of a lane are done.
        CREATE TABLE delivery (
            id INTEGER PRIMARY KEY,
            name BLOB NOT NULL,                       -- unique; made of occasion, rule, step and receiver
            occasion TEXT NOT NULL,
            rule TEXT NOT NULL,
            step TEXT NOT NULL,
            receiver TEXT NOT NULL,
            action TEXT NOT NULL,
            effect TEXT,                              -- 'writes' to its task, 'makes' one (its reference is the subject), or neither
            subject TEXT,
            lane TEXT NOT NULL,
            lane_key INTEGER NOT NULL,                -- made of the lane: what the index holds of it
            coalesces INTEGER NOT NULL,               -- 1 for a message that may become one with others; before the long body
            body TEXT NOT NULL,                       -- arguments, task, retry policy, revision
            hop INTEGER NOT NULL,
            created INTEGER NOT NULL,
            expires INTEGER,
            state TEXT NOT NULL,
            head INTEGER NOT NULL,                    -- 1 where no earlier delivery of the lane is alive
            bars INTEGER NOT NULL DEFAULT 0,          -- 1 while it waits in its lane: later ones of its rule stay behind it
            run_at INTEGER NOT NULL,
            paused INTEGER NOT NULL DEFAULT 0,        -- 1 while its connection cannot be used
            attempts INTEGER NOT NULL DEFAULT 0,
            lease INTEGER NOT NULL DEFAULT 0,         -- counts the claims, which are all attempts: the token of the latest
            lease_node TEXT,                          -- the agent that claimed it last
            lease_until INTEGER,
            started INTEGER,                          -- the latest attempt
            first_started INTEGER,
            uncertain_started INTEGER,                -- the latest attempt that may have been received
            finished INTEGER,
            receipt TEXT,
            reference TEXT,
            failure TEXT
        ) STRICT;
        CREATE INDEX delivery_name ON delivery (substr(name, 1, 6));
        -- To find due and running deliveries, and to count those that are not done. Most are done, and not in this index.
        CREATE INDEX delivery_open ON delivery (state, head, receiver, rule, run_at) WHERE state <> 'done' AND state <> 'joined';
        -- Has no column that changes when a delivery is claimed, so that each claim writes one page less.
        CREATE INDEX delivery_lane ON delivery (lane_key) WHERE finished IS NULL;
        CREATE INDEX delivery_bars ON delivery (lane, rule) WHERE bars = 1;
        CREATE INDEX delivery_paused ON delivery (receiver) WHERE paused = 1;
        -- To find the messages that quiet times hold; each is in it only as long as it is held.
        CREATE INDEX delivery_quiet ON delivery (run_at, receiver) WHERE state = 'quiet';
        -- To find the writes to a task, the delivery that created a task, and what deliveries created at a receiver.
        CREATE INDEX delivery_write ON delivery (subject) WHERE effect = 'writes';
        CREATE INDEX delivery_made ON delivery (reference) WHERE effect = 'makes';
        CREATE INDEX delivery_making ON delivery (receiver, finished) WHERE effect = 'makes';
        -- To count the deliveries that joined another, whose id is their reference.
        CREATE INDEX delivery_joined ON delivery (reference, state) WHERE state = 'joined';

        -- Which deliveries wait for which, by id. Includes those dropped because one that they waited for was given up.
        CREATE TABLE delivery_wait (
            after INTEGER NOT NULL,
            delivery INTEGER NOT NULL,                -- always the greater, so that nothing waits in a ring
            PRIMARY KEY (after, delivery)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX delivery_wait_delivery ON delivery_wait (delivery);

        -- What was sent in conversations, by receiver and key.
        CREATE TABLE conversation (
            receiver TEXT NOT NULL,
            conversation TEXT NOT NULL,
            first_message TEXT,                       -- what the receiver needs to answer or replace it; NULL if it cannot
            shown INTEGER NOT NULL,                   -- the delivery that the first message shows: an update replaces it
            latest INTEGER NOT NULL,                  -- the delivery of the latest message
            is_closed INTEGER NOT NULL,               -- 1 if that closed what the conversation opened
            used INTEGER NOT NULL,                    -- when it was sent
            PRIMARY KEY (receiver, conversation)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX conversation_used ON conversation (used);

        -- Why receivers get no deliveries, or got none lately: one row for each cause.
        CREATE TABLE stop (
            receiver TEXT NOT NULL,
            cause TEXT NOT NULL,
            since INTEGER NOT NULL,
            until INTEGER,                            -- NULL until a person resumes the receiver; then the time of that
            interval INTEGER NOT NULL,                -- the least time between attempts after a rest, in microseconds
            reason TEXT NOT NULL,
            PRIMARY KEY (receiver, cause)
        ) STRICT, WITHOUT ROWID;

        -- What is paused besides receivers: a rule, or with an empty name all writes to tasks.
        CREATE TABLE pause (
            rule TEXT PRIMARY KEY,
            since INTEGER NOT NULL,
            reason TEXT NOT NULL,
            by_person INTEGER NOT NULL                -- 0 if Bellhop itself paused it
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE rule (
            name TEXT PRIMARY KEY,
            revision TEXT NOT NULL,
            is_off INTEGER NOT NULL,                  -- 1 with `enabled: false`
            place INTEGER NOT NULL,                   -- among the rules
            since INTEGER NOT NULL,                   -- the last place on the bus that it does not see
            schedule TEXT,                            -- what the timer of its schedule was made from
            waits TEXT,                               -- what its waits, counts and groups were made from
            calendars TEXT,                           -- those of its waits
            most_keys INTEGER NOT NULL,               -- how many keys it may remember
            keys INTEGER NOT NULL DEFAULT 0,          -- how many it has, besides those of `once`
            once_keys INTEGER NOT NULL DEFAULT 0,
            escalations INTEGER NOT NULL DEFAULT 0,   -- how many it has under way
            dropped INTEGER NOT NULL DEFAULT 0,       -- how many were dropped because there were more
            begins_by_itself INTEGER NOT NULL,        -- 1 if waits of it begin with it, and with the baseline of a source
            runs INTEGER NOT NULL DEFAULT 0,
            errors INTEGER NOT NULL DEFAULT 0,
            last_error TEXT,
            last_run INTEGER
        ) STRICT, WITHOUT ROWID;

        -- The rows lie in the order in which they were made, and are found by a short index: a burst then writes few pages.
        CREATE TABLE rule_state (
            id INTEGER PRIMARY KEY,
            name_key INTEGER NOT NULL,                -- made of rule, kind and key: what the index holds of them
            rule TEXT NOT NULL,
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            element TEXT NOT NULL,                    -- distinguishes the pieces of a window; '' where there is only one
            value TEXT NOT NULL,
            expires INTEGER,
            used INTEGER NOT NULL,                    -- when it was written
            event INTEGER,                            -- the event that a wait or a window is about, which is not pruned
            subject TEXT                              -- what it is about, as in an event
        ) STRICT;
        CREATE INDEX rule_state_name ON rule_state (name_key, element);
        CREATE INDEX rule_state_rule ON rule_state (rule, kind);
        CREATE INDEX rule_state_count ON rule_state (rule, key) WHERE kind = 'count';
        CREATE INDEX rule_state_event ON rule_state (event) WHERE event IS NOT NULL;
        CREATE INDEX rule_state_subject ON rule_state (subject) WHERE subject IS NOT NULL;
        CREATE INDEX rule_state_expires ON rule_state (expires) WHERE expires IS NOT NULL;

        -- Count the keys of each rule. A window counts as one key, whatever it holds. Budgets, and the records of waits that a task
        -- has begun, do not count.
        CREATE TRIGGER rule_state_added AFTER INSERT ON rule_state
        WHEN new.kind NOT IN ('budget', 'begun', 'digest', 'escalation', 'escalated', 'steps') AND NOT EXISTS (
            SELECT 1 FROM rule_state
            WHERE name_key = new.name_key AND +rule = new.rule AND +kind = new.kind AND key = new.key AND id <> new.id)
        BEGIN
            UPDATE rule SET keys = keys + (new.kind <> 'once'), once_keys = once_keys + (new.kind = 'once')
            WHERE name = iif(new.rule LIKE 'shadow/%', substr(new.rule, 8), new.rule);
        END;
        CREATE TRIGGER rule_state_removed AFTER DELETE ON rule_state
        WHEN old.kind NOT IN ('budget', 'begun', 'digest', 'escalation', 'escalated', 'steps') AND NOT EXISTS (
            SELECT 1 FROM rule_state
            WHERE name_key = old.name_key AND +rule = old.rule AND +kind = old.kind AND key = old.key)
        BEGIN
            UPDATE rule SET keys = keys - (old.kind <> 'once'), once_keys = once_keys - (old.kind = 'once')
            WHERE name = iif(old.rule LIKE 'shadow/%', substr(old.rule, 8), old.rule);
        END;

        -- Count the escalations under way: not those that have ended, but may still close the alerts that they opened.
        CREATE TRIGGER escalation_added AFTER INSERT ON rule_state WHEN new.kind = 'escalation' AND new.expires IS NULL
        BEGIN
            UPDATE rule SET escalations = escalations + 1 WHERE name = new.element;
        END;
        CREATE TRIGGER escalation_removed AFTER DELETE ON rule_state WHEN old.kind = 'escalation' AND old.expires IS NULL
        BEGIN
            UPDATE rule SET escalations = escalations - 1 WHERE name = old.element;
        END;
        CREATE TRIGGER escalation_over AFTER UPDATE OF expires ON rule_state
        WHEN new.kind = 'escalation' AND (new.expires IS NULL) <> (old.expires IS NULL)
        BEGIN
            UPDATE rule SET escalations = escalations + iif(new.expires IS NULL, 1, -1) WHERE name = new.element;
        END;

        -- The timers of rules; id is the order in which they were set.
        CREATE TABLE timer (
            id INTEGER PRIMARY KEY,
            name_key INTEGER NOT NULL,                -- made of rule, kind and key: what the index holds of them
            rule TEXT NOT NULL,
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            due INTEGER NOT NULL,
            payload TEXT NOT NULL
        ) STRICT;
        CREATE INDEX timer_name ON timer (name_key);
        CREATE INDEX timer_rule ON timer (rule, kind);
        CREATE INDEX timer_due ON timer (due, rule);

        -- Why rules stopped, apart from a false `when`: the latest records of each rule and verdict. The rows lie in the order in which
        -- they were made: a batch of events then writes few pages.
        CREATE TABLE decision (
            rule TEXT NOT NULL,
            verdict TEXT NOT NULL,
            number INTEGER NOT NULL,                  -- counts them, those that were not kept too
            occasion TEXT NOT NULL,
            at INTEGER NOT NULL,
            detail TEXT NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX decision_number ON decision (rule, verdict, number);
        CREATE INDEX decision_occasion ON decision (occasion);
        CREATE INDEX decision_at ON decision (verdict, at);

        -- The silences: those that last, lie ahead, or ended not long ago.
        CREATE TABLE silence (
            id TEXT PRIMARY KEY,
            entry TEXT,                               -- its entry in bellhop.yaml; NULL for one made by a command
            starts INTEGER NOT NULL,
            ends INTEGER NOT NULL,
            body TEXT NOT NULL,                       -- what it keeps back, reason, author
            kept INTEGER NOT NULL DEFAULT 0,          -- deliveries that it kept back
            started INTEGER,                          -- when its beginning was put on the bus
            ended INTEGER                             -- when its end was
        ) STRICT, WITHOUT ROWID;

        -- The attempts of deliveries, and the acts of people. Each hash covers the one before, so that a changed row is found. The oldest
        -- row has only its hash.
        CREATE TABLE audit (
            number INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            entry TEXT NOT NULL,                      -- JSON, as it was hashed; '' in the first row
            hash TEXT NOT NULL
        ) STRICT;
        INSERT INTO audit VALUES (0, 0, '', '\(AuditRow.start)');

        CREATE TABLE note (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
        """
}
