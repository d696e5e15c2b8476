/// The database schema. Released text is never changed: a new version is a new migration.
enum Schema {
    /// Marks a file as a Bellhop store: the bytes of `BELL`.
    static let application: Int64 = 0x4245_4c4c

    /// One step from each version to the next, the first from an empty file; `user_version` counts those that were taken.
    static let migrations = [first, second, third]

    /// The version this program works with.
    static let version = Int64(migrations.count)

    private static let first = """
        -- What each source knows, by the instance, user, kind and query that its knowledge belongs to.
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
            health TEXT NOT NULL
        ) STRICT;

        -- The tasks that are there; id is the order in which listings showed them first.
        CREATE TABLE task (
            id INTEGER PRIMARY KEY,
            scope INTEGER NOT NULL,
            key ANY NOT NULL,                         -- 32 hexadecimal digits as 16 bytes, anything else as text
            listed BLOB NOT NULL,
            content BLOB NOT NULL,
            generation INTEGER NOT NULL,
            refreshed INTEGER,
            snapshot TEXT NOT NULL,
            UNIQUE (scope, key)
        ) STRICT;

        -- The tasks that were there, so that coming back is not being created.
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

        -- The bus. The event with the highest sequence is never pruned, so that no sequence is given twice.
        CREATE TABLE event (
            sequence INTEGER PRIMARY KEY,
            id ANY NOT NULL UNIQUE,
            type TEXT NOT NULL,
            source TEXT NOT NULL,
            subject TEXT NOT NULL,
            time INTEGER NOT NULL,
            hop INTEGER NOT NULL,
            data TEXT NOT NULL
        ) STRICT;

        -- The events that rules have still to see. A table of its own, so that routing one rewrites no event.
        CREATE TABLE unrouted (sequence INTEGER PRIMARY KEY) STRICT;

        -- What is owed; id is the order in which a lane's deliveries are done.
        CREATE TABLE delivery (
            id INTEGER PRIMARY KEY,
            name BLOB NOT NULL UNIQUE,                -- made of occasion, rule, step and receiver
            occasion TEXT NOT NULL,
            rule TEXT NOT NULL,
            step TEXT NOT NULL,
            receiver TEXT NOT NULL,
            action TEXT NOT NULL,
            subject TEXT,
            lane TEXT NOT NULL,
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
            lease INTEGER NOT NULL DEFAULT 0,         -- counts claims and rescues: the token of the latest
            lease_until INTEGER,
            started INTEGER,                          -- the latest attempt
            first_started INTEGER,
            uncertain_started INTEGER,                -- the latest attempt that may have been received
            finished INTEGER,
            receipt TEXT,
            reference TEXT,
            failure TEXT
        ) STRICT;
        -- Finds what is due, what runs, and counts what is not done; done is most of all and in none of these.
        CREATE INDEX delivery_open ON delivery (state, head, receiver, run_at) WHERE state <> 'done';
        CREATE INDEX delivery_lane ON delivery (lane) WHERE state IN ('available', 'running');
        CREATE INDEX delivery_bars ON delivery (lane, rule) WHERE bars = 1;
        CREATE INDEX delivery_paused ON delivery (receiver) WHERE paused = 1;
        -- Finds what was written to a task.
        CREATE INDEX delivery_write ON delivery (subject) WHERE action IN ('comment', 'update', 'attach');
        -- Finds who made a task: the reference of such a delivery is the task's subject.
        CREATE INDEX delivery_made ON delivery (reference) WHERE action = 'create';

        -- What waits for what, by their ids: of deliveries that wait, and of those dropped because one they waited for was given up.
        CREATE TABLE delivery_wait (
            after INTEGER NOT NULL,
            delivery INTEGER NOT NULL,                -- always the greater, so that nothing waits in a ring
            PRIMARY KEY (after, delivery)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX delivery_wait_delivery ON delivery_wait (delivery);

        -- How long receivers rest that asked for it, and how fast they are asked then.
        CREATE TABLE rest (
            receiver TEXT PRIMARY KEY,
            since INTEGER NOT NULL,
            until INTEGER NOT NULL,
            interval INTEGER NOT NULL                 -- microseconds
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE rule (
            name TEXT PRIMARY KEY,
            revision TEXT NOT NULL,
            since INTEGER NOT NULL,                   -- the last place on the bus that it does not see
            schedule TEXT,                            -- what its timer was made from
            due INTEGER,
            runs INTEGER NOT NULL DEFAULT 0,
            errors INTEGER NOT NULL DEFAULT 0,
            last_error TEXT,
            last_run INTEGER
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE rule_state (
            rule TEXT NOT NULL,
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            value TEXT NOT NULL,
            expires INTEGER,
            PRIMARY KEY (rule, kind, key)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX rule_state_expires ON rule_state (expires) WHERE expires IS NOT NULL;

        CREATE TABLE note (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
        """

    /// An action's manifest says what it does to tasks, which is stored with the delivery. Claims do not change the lane index.
    private static let second = """
        ALTER TABLE delivery ADD COLUMN effect TEXT;  -- 'writes' to its task, 'makes' one (its reference is the subject), or neither
        UPDATE delivery SET effect = iif(action = 'create', 'makes', 'writes')
            WHERE action IN ('comment', 'update', 'attach', 'create');
        DROP INDEX delivery_write;
        CREATE INDEX delivery_write ON delivery (subject) WHERE effect = 'writes';
        DROP INDEX delivery_made;
        CREATE INDEX delivery_made ON delivery (reference) WHERE effect = 'makes';
        CREATE INDEX delivery_making ON delivery (receiver, finished) WHERE effect = 'makes';
        UPDATE note SET key = 'unproved/' || substr(key, instr(key, '/') + 1) WHERE key GLOB 'unproved-*/*';
        -- By what does not change when a delivery is claimed: a page less to write for each.
        DROP INDEX delivery_lane;
        CREATE INDEX delivery_lane ON delivery (lane) WHERE finished IS NULL;
        """

    /// For the status: what a receiver answered when it asked for its rest, and which rules are turned off.
    private static let third = """
        ALTER TABLE rest ADD COLUMN why TEXT NOT NULL DEFAULT '';
        ALTER TABLE rule ADD COLUMN is_off INTEGER NOT NULL DEFAULT 0;
        """
}
