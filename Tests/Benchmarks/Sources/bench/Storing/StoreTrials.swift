import BellhopAgent
import BellhopCore
import BellhopStore

/// The store's own throughput under concurrency.
enum StoreTrials {
    static let all = [
        Benchmark(name: "store.deliveries", summary: "T3 and T4 alone, in batches of 64", run: deliveries),
        Benchmark(name: "store.appending", summary: "one event per call by 64 writers, who share commits", run: appending),
        Benchmark(
            name: "store.fairness", summary: "a claim of ten among 100,000 due deliveries of one receiver and 20 rules",
            run: fairness),
        Benchmark(name: "store.backlog", summary: "a claim of ten beside 100,000 blocked deliveries", run: backlog),
        Benchmark(
            name: "store.backlog.memory", summary: "memory of a dispatcher beside 100,000 waiting deliveries",
            run: BacklogMemory.run),
    ]

    private static let clock = SystemClock()

    private static func deliveries(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(20_000)
        let inFlight = 64
        let now = clock.now
        var (times, plain): ([Double], [Double]) = ([], [])
        let deliveries = WebhookBenchmarks.deliveries(count, ["n": 1], to: "chat", at: now)
        for round in 0..<bench.repetitions {
            plain.append(try await plainUpdates(of: deliveries, inFlight: inFlight, in: "\(bench.folder)/plain-\(round).db"))
            let store = try Stores.open("\(bench.folder)/deliveries-\(round).db")
            try await store.route(Routing(deliveries: deliveries))
            let time = try await Stopwatch.seconds {
                var finishes: [Finish] = []
                while true {
                    let request = ClaimRequest(
                        limit: inFlight, quotas: [:], others: inFlight, by: .only, until: now + .seconds(60), at: now)
                    let (kept, claimed) = try await store.finish(finishes, claiming: request)
                    guard kept.allSatisfy({ $0 }) else { throw BenchError("a lease was lost") }
                    if claimed.claims.isEmpty { break }
                    finishes = claimed.claims.map { claim in
                        Finish(claim, at: now, next: .done(Receipt("200")))
                    }
                }
            }
            times.append(time)
            try await store.close()
        }
        return [
            Measurement(
                "store.deliveries", .rate(Double(count) / times.median, of: "deliveries"),
                beside: .init(
                    name: "the same rows updated twice by plain SQLite",
                    quantity: .rate(Double(count) / plain.median, of: "deliveries")), aim: .ratio(atLeast: 0.5),
                remark: "Each batch of \(inFlight) is finished (T4) in the transaction that claims the next (T3), on both sides.")
        ]
    }

    /// The yardstick: the rows become `running`, then `done`, in the store's own table with its indexes, a transaction for each batch that ends and the next that begins.
    private static func plainUpdates(of deliveries: [Delivery], inFlight: Int, in path: String) async throws -> Double {
        let store = try Stores.open(path)
        try await store.route(Routing(deliveries: deliveries))
        try await store.close()
        let plain = try PlainSQLite(path)
        return try Stopwatch.seconds {
            var running = Int64(1)..<Int64(1)
            repeat {
                let next = running.upperBound..<Int64(min(Int(running.upperBound) + inFlight, deliveries.count + 1))
                try plain.execute("BEGIN IMMEDIATE")
                try plain.run(
                    "UPDATE delivery SET state = 'done', head = 0, finished = 1, receipt = '200' WHERE id = ?", for: running)
                try plain.run("UPDATE delivery SET state = 'running', started = 1, lease = lease + 1 WHERE id = ?", for: next)
                try plain.execute("COMMIT")
                running = next
            } while !running.isEmpty
        }
    }

    private static func appending(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(20_000)
        let writers = 64
        let events = Tasks.keys(count, seed: 8).enumerated().map {
            Tasks.event(.taskCreated, Tasks.snapshot($0, key: $1), at: clock.now)
        }
        var times: [Double] = []
        for round in 0..<bench.repetitions {
            let store = try Stores.open("\(bench.folder)/appending-\(round).db")
            let time = try await Stopwatch.seconds {
                try await withThrowingTaskGroup { group in
                    for writer in 0..<writers {
                        group.addTask {
                            for number in stride(from: writer, to: count, by: writers) {
                                try await store.append([events[number]])
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            times.append(time)
            try await store.close()
        }
        let sync = try Machine.syncTime(in: bench.folder)
        return [
            Measurement(
                "store.appending", .rate(Double(count) / times.median, of: "events"),
                beside: .init(name: "one page to disk for each", quantity: .rate(1 / sync, of: "events")))
        ]
    }

    /// One rule has almost all of the due deliveries; each claim takes one of each rule in turn.
    private static func fairness(_ bench: Bench) async throws -> [Measurement] {
        let now = clock.now
        var measured: [Measurement] = []
        for count in [1000, bench.size(100_000)] {
            let store = try Stores.open("\(bench.folder)/fairness-\(count).db")
            var deliveries = WebhookBenchmarks.deliveries(count, ["n": 1], to: "chat", at: now)
            for place in deliveries.indices.suffix(400) { deliveries[place].id.rule = "rule-\(place % 20)" }
            try await store.route(Routing(deliveries: deliveries))
            var times: [Double] = []
            var last = ""
            var rules: [String: Int] = [:]
            for _ in 0..<40 {
                let watch = ContinuousClock.now
                let claimed = try await store.claim(
                    limit: 10, quotas: ["chat": ClaimQuota(attempts: 10, lastRule: last)], others: 0, by: .only,
                    until: now + .seconds(60), at: now)
                times.append((ContinuousClock.now - watch).inSeconds)
                last = claimed.lastRules["chat"] ?? ""
                for claim in claimed.claims { rules[claim.delivery.id.rule, default: 0] += 1 }
            }
            guard rules.count == 21, rules.values.allSatisfy({ $0 >= 19 }) else { throw BenchError("a rule starved: \(rules)") }
            try await store.close()
            measured.append(
                Measurement(
                    "store.fairness.\(count)", .time(times.median),
                    beside: .init(name: "a page to disk", quantity: .time(try Machine.syncTime(in: bench.folder))),
                    aim: .figure(atMost: 0.001), remark: "A claim of ten (T3, on disk), \(count) due."))
        }
        return measured
    }

    private static func backlog(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(100_000)
        let now = clock.now
        let store = try Stores.open(bench.folder + "/backlog.db")
        // A busy receiver, a lane that waits for its first delivery, and free deliveries.
        try await store.route(Routing(deliveries: WebhookBenchmarks.deliveries(count, ["n": 1], to: "busy", at: now)))
        var blocked = WebhookBenchmarks.deliveries(count / 10, ["n": 1], to: "blocked", at: now)
        for place in blocked.indices { blocked[place].lane = "one lane" }
        try await store.route(Routing(deliveries: blocked))
        try await store.route(Routing(deliveries: WebhookBenchmarks.deliveries(1000, ["n": 1], to: "free", at: now)))
        var times: [Double] = []
        for _ in 0..<100 {
            times.append(
                try await Stopwatch.seconds {
                    _ = try await store.claim(
                        limit: 10, quotas: ["busy": ClaimQuota(attempts: 0)], others: 10, by: .only, until: now + .seconds(60),
                        at: now)
                    _ = try await store.nextDue(excluding: ["busy"])
                })
        }
        try await store.close()
        let sync = try Machine.syncTime(in: bench.folder)
        return [
            Measurement(
                "store.backlog", .time(times.median), beside: .init(name: "a page to disk", quantity: .time(sync)),
                aim: .figure(atMost: 0.001), remark: "A claim of ten (T3, on disk) and finding the next due time.")
        ]
    }
}
