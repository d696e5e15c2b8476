import BellhopCore
import BellhopTesting
import CSQLite
import Testing

@testable import BellhopStore

/// The query plans of the statements on the path of every delivery: they use indices only, however large the store.
@Suite struct `Query plans` {
    static let statements: [(name: String, sql: String, index: String)] = [
        ("a delivery by its name", SQL.Deliveries.isKnown, "delivery_name (<expr>=?"),
        ("an event that is known", SQL.Bus.isKnown, "event_id (<expr>=?"),
        ("the events of schedules", SQL.Bus.unroutedSchedules, "event_schedule (type=? AND rowid>?"),
        ("insert", SQL.Deliveries.insert, "delivery_lane"), ("promote", SQL.Deliveries.promote, "delivery_bars"),
        ("due", SQL.Deliveries.due, "delivery_open"), ("next receiver", SQL.Deliveries.nextReceiver, "delivery_open"),
        ("next rule", SQL.Deliveries.nextRule, "delivery_open"),
        ("the waits for a receiver that is back", SQL.Deliveries.endBackoff, "delivery_open (state=? AND head=? AND receiver=?"),
        ("messages to coalesce", SQL.Coalescing.heads, "delivery_open (state=? AND head=? AND receiver=? AND rule=?"),
        ("count of messages", SQL.Coalescing.count, "delivery_open (state=? AND head=? AND receiver=? AND rule=?"),
        ("next rule with messages", SQL.Coalescing.nextRule, "COVERING INDEX delivery_open"),
        ("next message of a lane", SQL.Coalescing.nextOfLane, "delivery_lane (lane_key=?"),
        ("what receivers have yet to receive", SQL.Queries.backlog, "USING COVERING INDEX delivery_open (state=?"),
        ("joined deliveries", SQL.Queries.joinedCounts, "USING COVERING INDEX delivery_joined"),
        ("what others joined", SQL.Queries.joinedCounts, "SEARCH carrier USING INDEX delivery_name (<expr>=?"),
        ("expired joined messages", SQL.Coalescing.anyExpired, "delivery_joined (reference=?"),
        ("joined messages", SQL.Coalescing.joined, "delivery_joined (reference=?"),
        ("joined messages of a retry", SQL.Coalescing.keepJoined, "delivery_joined (reference=?"),
        ("the messages that others wait behind", SQL.Coalescing.bar, "delivery_joined (reference=?"),
        ("the messages that others no longer wait behind", SQL.Coalescing.release, "delivery_joined (reference=?"),
        ("first lease end", SQL.Deliveries.firstLeaseEnd, "delivery_open"),
        ("followers", SQL.Predecessors.followers, "PRIMARY KEY (after=?)"),
        ("readiness", SQL.Predecessors.readiness, "delivery_wait_delivery"),
        ("forget", SQL.Predecessors.forget, "delivery_wait_delivery"),
        ("forget followers", SQL.Predecessors.forgetFollowers, "PRIMARY KEY (after=?)"),
        ("due timers", SQL.Timers.due, "timer_due"), ("next timer", SQL.Timers.nextDue, "timer_due"),
        ("upcoming timers", SQL.Queries.upcoming, "timer_due"),
        ("a timer", SQL.Timers.find, "timer_name (name_key=?"),
        ("the end of a timer", SQL.Timers.cancel, "timer_name (name_key=?"),
        ("state", SQL.State.read, "rule_state_name (name_key=?"),
        ("new state", SQL.State.insert, "rule_state_name (name_key=? AND element=?"),
        ("changed state", SQL.State.update, "rule_state_name (name_key=? AND element=?"),
        ("changed value", SQL.State.updateValue, "rule_state_name (name_key=? AND element=?"),
        ("removed state", SQL.State.delete, "rule_state_name (name_key=? AND element=?"),
        ("a dropped key", SQL.Rules.forgetBegun, "rule_state_name (name_key=? AND element=?"),
        ("the rest of a key", SQL.Forgetting.remains, "rule_state_name (name_key=?"),
        ("the subject of a wait", SQL.Queries.upcoming, "rule_state_name (name_key=? AND element=?"),
        ("counts", SQL.Queries.counts, "rule_state_count (rule=?"),
        ("what is kept about a task", SQL.Forgetting.about, "rule_state_subject"),
        ("keys of a task", SQL.Forgetting.keyed, "rule_state_name (name_key=?"),
        ("keys of once of removed rules", SQL.Pruning.expireOnce, "rule_state_rule (rule=? AND kind=?"),
        ("keys of once of a rule that is added again", SQL.Rules.keepOnce, "rule_state_rule (rule=? AND kind=?"),
        ("last decision", SQL.Decisions.last, "decision_number (rule=? AND verdict=?"),
        ("decisions of an occasion", SQL.Decisions.ofOccasion, "decision_occasion"),
        ("old decisions", SQL.Decisions.prune, "decision_at"), ("any bars", SQL.Predecessors.anyBars, "delivery_bars"),
        ("lane bars", SQL.Predecessors.laneBars, "delivery_bars"),
        ("next release", SQL.Quiet.next, "INDEX delivery_quiet"),
        ("first to release", SQL.Quiet.first, "INDEX delivery_quiet (run_at<?"),
        ("messages to release", SQL.Quiet.held, "delivery_quiet (run_at=? AND receiver=?"),
        ("is held", SQL.Quiet.isHeld, "PRIMARY KEY (rowid=?"),
        ("what is kept back in a lane", SQL.Quiet.keptBackInLane, "delivery_lane (lane_key=?"),
        ("a delivery that is kept back", SQL.Quiet.keptBack, "delivery_name (<expr>=?"),
        ("held for people", SQL.Quiet.all, "INDEX delivery_quiet"),
        ("an event by its id", SQL.Queries.event, "event_id (<expr>=?"),
        ("the place of an event", SQL.Queries.eventPlace, "event_id (<expr>=?"),
        ("what an event led to", SQL.History.caused, "INDEX event_cause (cause=?"),
        ("what stopped rules at events", SQL.History.decisions, "INDEX decision_occasion (occasion>? AND occasion<?"),
        ("the newest of few deliveries", SQL.Queries.fewDeliveries, "INDEX delivery_open (state=?)"),
        ("a page of few deliveries", SQL.Queries.fewDeliveriesAfter, "INDEX delivery_open (state=?)"),
        ("the span of few deliveries", SQL.Queries.fewDeliveriesSpan, "INDEX delivery_open (state=?)"),
        ("the count of few deliveries", SQL.Queries.stateCount, "COVERING INDEX delivery_open (state=?)"),
        ("a page of tasks", SQL.Sources.page, "(scope=? AND key>?)"),
        ("expired state", SQL.Pruning.removeState, "INDEX rule_state_expires (expires>? AND expires<?"),
        ("the first timer", SQL.Pruning.removeState, "INDEX timer_due"),
        ("the ends of escalations", SQL.History.escalations, "INDEX decision_at (verdict=? AND at>?"),
    ]

    @Test(arguments: statements)
    func `no frequent statement scans a table`(_ statement: (name: String, sql: String, index: String))
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
        let scans = ["delivery", "timer", "rule", "rule_state", "decision", "task"].map { "SCAN " + $0 }
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
                INSERT INTO delivery (name, occasion, rule, step, receiver, action, lane, lane_key, body, coalesces, hop, created, state, head, run_at)
                WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(count))
                SELECT CAST('name ' || n AS BLOB), occasion, rule, 'step ' || n, receiver, action,
                    iif(\(isOneLane), lane, 'lane ' || n), iif(\(isOneLane), lane_key, n), body, coalesces, hop, created, state, \(isOneLane ? 0 : 1), run_at
                FROM number CROSS JOIN delivery WHERE id = 1
                """)
            _ = session.takeWork()
        }
        let coalesced = try await bench.store.coalesce(receiver: "chat", above: 20, at: Sample.now)
        let claimed = try await bench.store.claim(
            limit: 16, quotas: ["chat": ClaimQuota(attempts: 16)], others: 0, by: .only, until: Sample.now + .seconds(60),
            at: Sample.now)
        #expect(coalesced == 0)
        #expect(claimed.claims.count == (isOneLane ? 2 : 16))
        return try await bench.sqlite.write { $0.takeWork() }
    }

    @Test(arguments: [true, false])
    func `claiming and coalescing take no more work with 100,000 waiting deliveries`(_ isOneLane: Bool)
        async throws
    {
        let (few, many) = (
            try await work(waiting: 2000, isOneLane: isOneLane), try await work(waiting: 100_000, isOneLane: isOneLane)
        )
        #expect(many.steps < few.steps * 3 / 2, "\(few) \(many)")
        #expect(many.scanned <= few.scanned, "\(few) \(many)")
        #expect(few.steps > 100)
    }

    /// So that no other writer waits for more than a thousand rows.
    @Test func `pruning deletes expired state and removed tasks in steps of a thousand`() async throws {
        let bench = try SQLiteUnderTest()
        _ = try await bench.store.open(Sample.scope, source: "tasks", at: Sample.now)
        func steps(removing count: Int, turn: Int64) async throws -> Int {
            _ = try await bench.store.commit(Sample.poll([], removing: Array(1...count), turn: turn))
            try await bench.store.route(
                Routing(
                    state: (1...count).map {
                        StateWrite(StateKey(rule: "rule", kind: .once, key: "\($0)"), .set(true, expires: Sample.now))
                    }))
            let before = bench.sqlite.writing.commits
            #expect(try await bench.store.prune(Retention(), at: Sample.now + .days(401)) == 2 * count)
            return bench.sqlite.writing.commits - before
        }
        let few = try await steps(removing: 1, turn: 0)
        #expect(try await steps(removing: 2500, turn: 1) == few + 4)
    }

    @Test func `a search for dead deliveries takes no more work with 20,000 that are done`() async throws {
        func work(done count: Int) async throws -> Int {
            let bench = try SQLiteUnderTest()
            try await bench.store.route(Routing(deliveries: [Sample.delivery(1), Sample.delivery(2), Sample.delivery(3)]))
            return try await bench.sqlite.write { session in
                try session.database.execute(
                    """
                    UPDATE delivery SET state = 'dead', finished = 1 WHERE id IN (1, 3);
                    INSERT INTO delivery (name, occasion, rule, step, receiver, action, lane, lane_key, body, coalesces, hop, created, state, head, run_at)
                    WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(count))
                    SELECT CAST('name ' || n AS BLOB), occasion, rule, step, receiver, action, lane, lane_key, body, coalesces, hop, created, 'done', 0, run_at
                    FROM number CROSS JOIN delivery WHERE id = 1
                    """)
                _ = session.takeWork()
                var query = DeliveryQuery(states: [.dead, .held], limit: 9)
                #expect(try session.deliveries(query).map(\.place) == [1, 3])
                #expect(try session.span(of: query) == RowSpan(after: 0, through: 3))
                query.after = 1
                #expect(try session.deliveries(query).map(\.place) == [3])
                return session.takeWork().steps
            }
        }
        let (few, many) = (try await work(done: 10), try await work(done: 20_000))
        #expect(many < few + 100, "\(few) \(many)")
    }

    @Test func `pruning deletes a scope that is no longer used in steps of a thousand tasks`() async throws {
        let bench = try SQLiteUnderTest()
        _ = try await bench.store.open(Sample.scope, source: "tasks", at: Sample.now)
        var poll = Sample.poll(Array(1...2500))
        poll.events = []
        _ = try await bench.store.commit(poll)
        bench.forgetOpenScopes()
        func prune() async throws -> (rows: Int, commits: Int) {
            let before = bench.sqlite.writing.commits
            let rows = try await bench.store.prune(Retention(), at: Sample.now + .days(401))
            return (rows, bench.sqlite.writing.commits - before)
        }
        let (first, second) = (try await prune(), try await prune())
        #expect(first.rows == 2501 && second.rows == 0)
        // Three for the tasks, and one for the scope.
        #expect(first.commits == second.commits + 4)
        #expect(try await bench.store.status().sources.isEmpty)
    }

    @Test func `reading due timers takes no more work with 20,000 due at the same moment`() async throws {
        func work(_ count: Int) async throws -> Int {
            let bench = try SQLiteUnderTest()
            let rules = ["b", "a"].map { RuleRegistration(name: $0, revision: "1") }
            _ = try await bench.store.register(rules, at: Sample.now)
            let timers = (0..<count).map { number in
                let id = RuleTimer.ID(rule: number % 2 == 0 ? "a" : "b", kind: .hold, key: "\(number)")
                return TimerChange.set(RuleTimer(id, due: Sample.now))
            }
            try await bench.store.route(Routing(timers: timers))
            _ = try await bench.sqlite.write { $0.takeWork() }
            let due = try await bench.store.dueTimers(at: Sample.now, limit: 100)
            #expect(due.map(\.id.key) == (0..<100).map { "\($0 * 2 + 1)" })
            return try await bench.sqlite.write { $0.takeWork() }.steps
        }
        let (few, many) = (try await work(1000), try await work(20_000))
        #expect(many < few * 3 / 2 && few > 100, "\(few) \(many)")
    }
}

/// The pieces of one key.
@Suite struct `The state of a key with many pieces` {
    /// The steps of SQLite's machine for ten new pieces beside so many.
    private func work(_ count: Int) async throws -> Int {
        let bench = try SQLiteUnderTest()
        func routing(_ numbers: Range<Int>) -> Routing {
            Routing(
                state: numbers.map {
                    StateWrite(
                        StateKey(rule: "rule", kind: .hold, key: "", element: "\($0)"), .set(true, expires: nil),
                        expecting: .absent)
                })
        }
        try await bench.store.route(routing(0..<count))
        _ = try await bench.sqlite.write { $0.takeWork() }
        try await bench.store.route(routing(count..<count + 10))
        return try await bench.sqlite.write { $0.takeWork() }.steps
    }

    @Test func `storing a new piece takes no more work beside 5,000 others`() async throws {
        let (few, many) = (try await work(100), try await work(5000))
        #expect(many < few * 3 / 2 && few > 100, "\(few) \(many)")
    }

    @Test func `the key of a name equals the one in existing stores`() async throws {
        let key = try await SQLiteUnderTest().sqlite.read { session in
            var statement = try session.prepare("SELECT name_key('rule', 'hold', 'a')")
            return try statement.next() ? statement.int(0) : 0
        }
        #expect(key == -74_623_879_142_465)
    }
}

/// A long history.
@Suite struct `The history of many events` {
    /// The steps of SQLite's machine for a history of so many events of a task, each with a wait that ran.
    private func work(_ count: Int) async throws -> Int {
        let bench = try SQLiteUnderTest()
        try await bench.store.append((1...count).map { Sample.event($0) })
        var routing = Routing()
        for number in 1...count {
            let timer = RuleTimer.ID(rule: "rule", kind: .hold, key: "tasks/\(number)")
            let occasion = Occasion.timer(timer, due: Sample.now, .event(Int64(number))).id
            var delivery = Sample.delivery(number)
            delivery.id = Delivery.ID(occasion: occasion, rule: "rule", step: StepPath(index: 0), receiver: "chat")
            routing.deliveries.append(delivery)
            routing.decisions.append(
                DecisionRecord(rule: "rule", verdict: .stepFailed, occasion: occasion, at: Sample.now, number: Int64(number)))
        }
        try await bench.store.route(routing)
        return try await bench.sqlite.write { session in
            _ = session.takeWork()
            let history = try session.history(HistoryQuery(through: Int64(count), limit: count))
            #expect(history.events.count == count && history.deliveries.count == count)
            return session.takeWork().steps
        }
    }

    @Test func `the work for a history grows with its length, not with its square`() async throws {
        let (few, many) = (try await work(150), try await work(1500))
        #expect(many < few * 13, "\(few) \(many)")
    }

    /// The steps of SQLite's machine for the history of a recent event, and for the audit since a recent moment, in a store with so many old
    /// rows of the audit.
    private func work(oldRows count: Int) async throws -> (history: Int, audit: Int) {
        let bench = try SQLiteUnderTest()
        try await bench.store.append([Sample.event(1)])
        return try await bench.sqlite.write { session in
            try session.database.execute(
                """
                WITH RECURSIVE row(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row WHERE n < \(count))
                INSERT INTO audit SELECT n, \((Sample.now - .days(9)).microseconds) + n, '{}', '' FROM row;
                INSERT INTO audit VALUES (\(count) + 1, \(Sample.now.microseconds), '{"act":"reload"}', '')
                """)
            _ = session.takeWork()
            let history = try session.history(HistoryQuery(limit: 1))
            #expect(history.audit.map(\.number) == [Int64(count) + 1])
            let ofHistory = session.takeWork().steps
            let rows = try session.auditRows(AuditQuery(since: Sample.now - .seconds(60)))
            #expect(rows.map(\.number) == [Int64(count) + 1])
            return (ofHistory, session.takeWork().steps)
        }
    }

    @Test func `the work for a history and for the recent audit does not grow with the age of the audit`() async throws {
        let (few, many) = (try await work(oldRows: 2000), try await work(oldRows: 20_000))
        #expect(many.history < few.history + 100 && many.audit < few.audit + 100, "\(few) \(many)")
    }
}

/// The status of a store with many timers.
@Suite struct `The status of many timers` {
    /// Fills a store with waits of one rule, and returns its status and the steps of SQLite's machine that it took.
    private func status(waiting count: Int) async throws -> (status: StoreStatus, steps: Int) {
        let bench = try SQLiteUnderTest()
        let schedule = RuleRegistration.Schedule(text: "x", next: Sample.now + .seconds(5))
        _ = try await bench.store.register(
            [RuleRegistration(name: "rule", revision: "1", schedule: schedule, waits: "w")], at: Sample.now)
        try await bench.sqlite.write { session in
            try session.database.execute(
                """
                WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(count))
                INSERT INTO timer (rule, kind, key, name_key, due, payload)
                SELECT 'rule', 'hold', 'tasks/' || n, name_key('rule', 'hold', 'tasks/' || n), \(Sample.now.microseconds) + 1000000 * (\(count) - n + 60), '{}' FROM number
                """)
            try session.database.execute(
                """
                INSERT INTO rule_state (rule, kind, key, name_key, element, value, used, event, subject)
                SELECT rule, kind, key, name_key, '', '{"subject":"test/' || substr(key, 7) || '","event":1}', 0, 1,
                    'test/' || substr(key, 7)
                FROM timer WHERE kind = 'hold'
                """)
            _ = session.takeWork()
        }
        return try await bench.sqlite.write { session in
            let status = try session.status(at: Sample.now)
            return (status, session.takeWork().steps)
        }
    }

    @Test func `the status of 100,000 timers shows the next few and reads no more than it counts`() async throws {
        let (few, many) = (try await status(waiting: 12_000), try await status(waiting: 100_000))
        #expect(many.steps < few.steps * 11 / 10, "\(few.steps) \(many.steps)")
        let upcoming = many.status.upcoming
        #expect(upcoming.map(\.subject) == (0..<10).map { "test/\(100_000 - $0)" })
        #expect(upcoming.map(\.timer.due) == (0..<10).map { Sample.now + .seconds($0 + 60) })
        #expect(many.status.laterWaits == StoreStatus.WaitStatus.most + 1 - 10)
        #expect(many.status.waits == [StoreStatus.WaitStatus(rule: "rule", part: .hold, count: StoreStatus.WaitStatus.most + 1)])
        // The schedule's time is known all the same.
        #expect(many.status.rules.map(\.nextDue) == [Sample.now + .seconds(5)])
        let small = try await status(waiting: 25).status
        #expect(small.laterWaits == 15)
        #expect(small.waits == [StoreStatus.WaitStatus(rule: "rule", part: .hold, count: 25, next: Sample.now + .seconds(60))])
    }
}

extension Session {
    /// The work of all statements of this connection since the last call.
    func takeWork() -> (scanned: Int, steps: Int) {
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
