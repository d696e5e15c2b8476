import Testing

@testable import BellhopStore

/// The query plans of the statements on the path of every delivery: they use indices only, however large the store.
@Suite struct `Query plans` {
    static let statements: [(name: String, sql: String, index: String)] = [
        ("insert", SQL.Deliveries.insert, "delivery_lane"), ("promote", SQL.Deliveries.promote, "delivery_bars"),
        ("due", SQL.Deliveries.due, "delivery_open"), ("next receiver", SQL.Deliveries.nextReceiver, "delivery_open"),
        ("next rule", SQL.Deliveries.nextRule, "delivery_open"),
        ("messages to coalesce", SQL.Coalescing.heads, "delivery_open"),
        ("first lease end", SQL.Deliveries.firstLeaseEnd, "delivery_open"),
        ("followers", SQL.Waiting.followers, "PRIMARY KEY (after=?)"),
        ("readiness", SQL.Waiting.readiness, "delivery_wait_delivery"), ("forget", SQL.Waiting.forget, "delivery_wait_delivery"),
        ("due timers", SQL.Timers.due, "timer_due"), ("next timer", SQL.Timers.nextDue, "timer_due"),
        ("last decision", SQL.Decisions.last, "PRIMARY KEY (rule=? AND verdict=?"),
        ("decisions of an occasion", SQL.Decisions.ofOccasion, "decision_occasion"),
        ("old decisions", SQL.Decisions.prune, "decision_at"), ("any bars", SQL.Waiting.anyBars, "delivery_bars"),
        ("lane bars", SQL.Waiting.laneBars, "delivery_bars"),
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
}
