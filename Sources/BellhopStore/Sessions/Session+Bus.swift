import BellhopCore

extension Session {
    /// Adds events and marks the new ones as unrouted; returns how many were new.
    @discardableResult
    func append(_ events: [Event]) throws -> Int {
        guard !events.isEmpty else { return 0 }
        var find = try prepare(SQL.Bus.isKnown)
        var insert = try prepare(SQL.Bus.insert)
        var count = 0
        var bytes: [UInt8] = []
        for event in events {
            try find.bind(":id", key: event.id.text)
            if try find.exists() { continue }
            EventFitting.encode(event.data, into: &bytes)
            try insert.bind(":id", key: event.id.text)
            try insert.bind(":type", event.type.name)
            try insert.bind(":source", event.source)
            try insert.bind(":subject", event.subject)
            try insert.bind(":time", event.time)
            try insert.bind(":hop", event.hop)
            try insert.bind(":data", text: bytes)
            try insert.bind(":cause", key: event.cause?.text)
            count += try insert.run()
        }
        guard count > 0 else { return 0 }
        // One connection writes, so this transaction's rows are the last ones, without gaps.
        let last = database.lastInsertedRowID
        var mark = try prepare(SQL.Bus.markUnrouted)
        try mark.bind(":first", last - Int64(count) + 1)
        try mark.bind(":last", last)
        try mark.run()
        return count
    }

    func events(at places: [Int64]) throws -> [StoredEvent] {
        var statement = try prepare(SQL.Bus.find)
        var events: [StoredEvent] = []
        for place in places {
            try statement.bind(":sequence", place)
            if try statement.next() { events.append(try StoredEvent(statement)) }
            statement.stop()
        }
        return events
    }

    /// The first unrouted events behind a place, and the places of those that cannot be read.
    func unrouted(after place: Int64, limit: Int) throws -> (events: [StoredEvent], damaged: [Int64]) {
        var statement = try prepare(SQL.Bus.unrouted)
        try statement.bind(":after", place)
        try statement.bind(":limit", limit)
        var events: [StoredEvent] = []
        var damaged: [Int64] = []
        var bytes = 0
        while bytes < Self.maxUnrouted, try statement.next() {
            bytes += statement.size(7)
            do { events.append(try StoredEvent(statement)) } catch is DamagedValue { damaged.append(statement.int(0)) }
        }
        return (events, damaged)
    }

    /// The first unrouted events of schedules behind a place, without unreadable ones.
    func unroutedSchedules(after place: Int64, limit: Int) throws -> [StoredEvent] {
        var statement = try prepare(SQL.Bus.unroutedSchedules, (":after", place), (":limit", limit))
        var events: [StoredEvent] = []
        while try statement.next() {
            do { events.append(try StoredEvent(statement)) } catch is DamagedValue { continue }
        }
        return events
    }

    /// The most bytes of events to take at once; at least one event is taken.
    static let maxUnrouted = 8 << 20

    /// Marks unreadable events as routed, and counts them.
    func skipUnreadable(_ sequences: [Int64]) throws {
        let count = try markRouted(sequences)
        try setNote(Self.damagedNote, to: .int(Int64(try damagedEvents() + count)))
    }

    /// How many unreadable events were skipped.
    func damagedEvents() throws -> Int { Int(try note(Self.damagedNote)?.asInt ?? 0) }

    private static let damagedNote = "store/damaged-events"

    /// T2. Events are routed only once: if a mark is gone, nothing is saved.
    func route(_ routing: Routing) throws -> RouteResult {
        if !routing.routed.isEmpty {
            let count = try markRouted(routing.routed)
            if count == 0 { return .alreadyRouted }
            if count < Set(routing.routed).count { throw RouteConflict.events }
        }
        if let replay = routing.replayed, try !end(replay: replay) { return .alreadyRouted }
        try end(routing.fired)
        try write(routing.state, at: routing.at)
        try change(routing.timers)
        try count(keptBy: insert(routing.deliveries))
        try append(routing.events)
        try add(routing.tallies)
        try add(routing.decisions)
        let losses = try limitKeys(of: routing.state, at: routing.at)
        return losses.isEmpty ? .stored : .storedWithKeyLoss(losses)
    }

    /// Removes the marks in runs of consecutive numbers; returns how many there were.
    private func markRouted(_ sequences: [Int64]) throws -> Int {
        var statement = try prepare(SQL.Bus.markRouted)
        var count = 0
        for run in Self.runs(of: sequences) {
            try statement.bind(":first", run.lowerBound)
            try statement.bind(":last", run.upperBound)
            count += try statement.run()
        }
        return count
    }

    /// The runs of consecutive numbers among these.
    static func runs(of numbers: [Int64]) -> [ClosedRange<Int64>] {
        var runs: [ClosedRange<Int64>] = []
        for number in numbers.sorted() {
            if let last = runs.last, number <= last.upperBound + 1 {
                runs[runs.count - 1] = last.lowerBound...number
            } else {
                runs.append(number...number)
            }
        }
        return runs
    }

    private func add(_ tallies: [RuleTally]) throws {
        guard !tallies.isEmpty else { return }
        var statement = try prepare(SQL.Rules.tally)
        for tally in tallies {
            try statement.bind(":runs", tally.runs)
            try statement.bind(":errors", tally.errors)
            try statement.bind(":error", tally.lastError)
            try statement.bind(":at", tally.at)
            try statement.bind(":name", tally.rule)
            try statement.run()
        }
    }
}

extension SQL {
    enum Bus {
        static let isKnown = "SELECT 1 FROM event WHERE \(SQL.has("id", ":id"))"

        static let insert = """
            INSERT INTO event (id, type, source, subject, time, hop, data, cause)
            VALUES (:id, :type, :source, :subject, :time, :hop, :data, :cause)
            """

        /// Marks the events in a range of sequences. A transaction of SQLite's one writer fills such a range without gaps.
        /// (PostgreSQL's sequences have gaps, and rows of other writers between them: there each insert must mark its own row.)
        static let markUnrouted = """
            WITH RECURSIVE place (sequence) AS (
                VALUES (:first) UNION ALL SELECT sequence + 1 FROM place WHERE sequence < :last
            )
            INSERT INTO unrouted (sequence) SELECT sequence FROM place
            """

        /// The columns of an event, in the order in which `StoredEvent` reads them.
        static let columns = ["sequence", "id", "type", "source", "subject", "time", "hop", "data", "cause"]
            .map { "event.\($0)" }.joined(separator: ", ")

        static let unrouted = """
            SELECT \(columns)
            FROM unrouted CROSS JOIN event ON event.sequence = unrouted.sequence
            WHERE unrouted.sequence > :after
            ORDER BY unrouted.sequence
            LIMIT :limit
            """

        /// Names the type, because only then SQLite uses the index of these events.
        static let unroutedSchedules = """
            SELECT \(columns)
            FROM event
            WHERE event.type = '\(EventType.scheduleDue.name)' AND event.sequence > :after
                AND EXISTS (SELECT 1 FROM unrouted WHERE unrouted.sequence = event.sequence)
            ORDER BY event.sequence
            LIMIT :limit
            """

        static let find = "SELECT \(columns) FROM event WHERE sequence = :sequence"

        static let markRouted = "DELETE FROM unrouted WHERE sequence BETWEEN :first AND :last"
    }
}
