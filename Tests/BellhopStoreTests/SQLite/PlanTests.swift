import BellhopCore
import CSQLite
import Testing

@testable import BellhopStore

/// The query plans of the statements on the path of every delivery: they use indices only, however large the store.
@Suite struct `Query plans` {
    static let statements: [(name: String, sql: String, index: String)] = [
        ("insert", SQL.Deliveries.insert, "delivery_lane"), ("promote", SQL.Deliveries.promote, "delivery_bars"),
        ("due", SQL.Deliveries.due, "delivery_open"), ("next receiver", SQL.Deliveries.nextReceiver, "delivery_open"),
        ("next rule", SQL.Deliveries.nextRule, "delivery_open"),
        ("messages to coalesce", SQL.Coalescing.heads, "delivery_open (state=? AND head=? AND receiver=? AND rule=?"),
        ("count of messages", SQL.Coalescing.count, "delivery_open (state=? AND head=? AND receiver=? AND rule=?"),
        ("next rule with messages", SQL.Coalescing.nextRule, "COVERING INDEX delivery_open"),
        ("next message of a lane", SQL.Coalescing.nextOfLane, "delivery_lane (lane=?"),
        ("first lease end", SQL.Deliveries.firstLeaseEnd, "delivery_open"),
        ("followers", SQL.Waiting.followers, "PRIMARY KEY (after=?)"),
        ("readiness", SQL.Waiting.readiness, "delivery_wait_delivery"), ("forget", SQL.Waiting.forget, "delivery_wait_delivery"),
        ("due timers", SQL.Timers.due, "timer_due"), ("next timer", SQL.Timers.nextDue, "timer_due"),
        ("last decision", SQL.Decisions.last, "PRIMARY KEY (rule=? AND verdict=?"),
        ("decisions of an occasion", SQL.Decisions.ofOccasion, "decision_occasion"),
        ("old decisions", SQL.Decisions.prune, "decision_at"), ("any bars", SQL.Waiting.anyBars, "delivery_bars"),
        ("lane bars", SQL.Waiting.laneBars, "delivery_bars"),
        ("next release", SQL.Quiet.next, "COVERING INDEX delivery_quiet"),
        ("first to release", SQL.Quiet.first, "COVERING INDEX delivery_quiet (run_at<?"),
        ("messages to release", SQL.Quiet.held, "delivery_quiet (run_at=? AND receiver=?"),
        ("is held", SQL.Quiet.isHeld, "PRIMARY KEY (rowid=?"),
        ("held for people", SQL.Quiet.all, "COVERING INDEX delivery_quiet"),
    ]

    @Test(arguments: statements)
    func `no statement on the path of a delivery scans a table`(_ statement: (name: String, sql: String, index: String))
        async throws
    {
        let bench = try SQLiteUnderTest()
        let plan = try await bench.sqlite.read { session in
            var explained = try session.prepare("EXPLAIN QUERY PLAN " + statement.sql)
            var steps: [String] = []
            while try explained.next() { steps.append(explained.text(3)) }
            return steps
        }
        #expect(plan.contains { $0.contains(statement.index) }, "\(plan)")
        let scans = ["delivery", "timer", "rule", "decision"].map { "SCAN " + $0 }
        #expect(!plan.contains { step in scans.contains { step.contains($0) } && !step.contains("USING") }, "\(plan)")
    }

    /// Fills a store with waiting messages that all have a thread, each in its own lane or all in one; returns how many rows and steps
    /// of SQLite's machine a look for messages to coalesce and a claim need.
    private func work(waiting count: Int, isOneLane: Bool) async throws -> (scanned: Int, steps: Int) {
        let bench = try SQLiteUnderTest()
        var message = Sample.delivery(1, action: "notify")
        message.arguments = .message(Message(title: [.value("Task")], thread: "INC1"))
        try await bench.store.route(Routing(deliveries: [message, Sample.delivery(2, lane: "beside")]))
        try await bench.sqlite.write { session in
            try session.database.execute(
                """
                INSERT INTO delivery (name, occasion, rule, step, receiver, action, lane, body, coalesces, hop, created, state, head, run_at)
                WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(count))
                SELECT CAST('name ' || n AS BLOB), occasion, rule, 'step ' || n, receiver, action,
                    iif(\(isOneLane), lane, 'lane ' || n), body, coalesces, hop, created, state, \(isOneLane ? 0 : 1), run_at
                FROM number CROSS JOIN delivery WHERE id = 1
                """)
            _ = session.takeWork()
        }
        let coalesced = try await bench.store.coalesce(receiver: "chat", above: 20, at: Sample.now)
        let claimed = try await bench.store.claim(
            limit: 16, room: ["chat": Room(attempts: 16)], others: 0, by: .only, until: Sample.now + .seconds(60), at: Sample.now)
        #expect(coalesced == 0)
        #expect(claimed.claims.count == (isOneLane ? 2 : 16))
        return try await bench.sqlite.write { $0.takeWork() }
    }

    @Test(arguments: [true, false])
    func `a claim and a look for messages to coalesce do not take more work if 100,000 deliveries wait`(_ isOneLane: Bool)
        async throws
    {
        let (few, many) = (
            try await work(waiting: 2000, isOneLane: isOneLane), try await work(waiting: 100_000, isOneLane: isOneLane)
        )
        #expect(many.steps < few.steps * 3 / 2, "\(few) \(many)")
        #expect(many.scanned <= few.scanned, "\(few) \(many)")
        #expect(few.steps > 100)
    }
}

extension Session {
    /// The work of all statements of this connection since the last call.
    fileprivate func takeWork() -> (scanned: Int, steps: Int) {
        var work = (scanned: 0, steps: 0)
        var statement = sqlite3_next_stmt(database.handle, nil)
        while let current = statement {
            work.scanned += Int(sqlite3_stmt_status(current, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1))
            work.steps += Int(sqlite3_stmt_status(current, SQLITE_STMTSTATUS_VM_STEP, 1))
            statement = sqlite3_next_stmt(database.handle, current)
        }
        return work
    }
}
