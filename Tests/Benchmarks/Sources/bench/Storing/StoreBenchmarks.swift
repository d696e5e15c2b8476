import BellhopAgent
import BellhopCore
import BellhopStore

/// Measures a poll with a hundred thousand new tasks, stored in one transaction.
enum StoreBenchmarks {
    static let all = [
        Benchmark(
            name: "store.new-tasks", summary: "T1 for 100,000 new tasks: snapshots, events and all in one transaction", run: run)
    ]

    private static func run(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(100_000)
        let keys = Tasks.keys(count, seed: 2)
        let now = SystemClock().now
        let snapshots = keys.enumerated().map { Tasks.snapshot($0, key: $1) }
        let events = snapshots.map { Tasks.event(.taskCreated, $0, at: now) }
        var (ours, plain): ([Double], [Double]) = ([], [])
        for round in 0..<bench.repetitions {
            bench.say("round \(round + 1)")
            let path = "\(bench.folder)/store-\(round).db"
            ours.append(try await commit(snapshots, events, to: path, at: now))
            plain.append(try insert(from: path, to: "\(bench.folder)/plain-\(round).db"))
        }
        return [
            Measurement(
                "store.new-tasks", .rate(Double(count) / ours.median, of: "tasks"),
                beside: .init(
                    name: "plain SQLite inserts of the same rows", quantity: .rate(Double(count) / plain.median, of: "tasks")),
                aim: .ratio(atLeast: 0.5),
                remark: "A row for the task and one for its event each; \(Quantity.time(ours.median)), encoding included, beside "
                    + "\(Quantity.time(plain.median)) for rows that are ready, in one transaction too.")
        ]
    }

    private static func commit(
        _ snapshots: [Snapshot], _ events: [Event], to path: String, at now: Timestamp
    ) async throws -> Double {
        let store = try Stores.open(path)
        let turn = try await store.open(Tasks.scope, source: Tasks.source, at: now).turn
        let time = try await Stopwatch.seconds {
            let commit = Tasks.poll(snapshots, events: events, turn: turn, at: now)
            guard case .committed(_, events.count) = try await store.commit(commit) else {
                throw BenchError("the poll was not stored")
            }
        }
        try await store.close()
        return time
    }

    private static func insert(from store: String, to path: String) throws -> Double {
        let model = try PlainSQLite(store)
        let tasks = try model.rows("SELECT * FROM task")
        let events = try model.rows("SELECT * FROM event")
        let plain = try PlainSQLite(path)
        for statement in try model.schema(of: ["task", "event"]) { try plain.execute(statement) }
        return try Stopwatch.seconds {
            try plain.execute("BEGIN IMMEDIATE")
            try plain.insert(tasks[...], into: "task")
            try plain.insert(events[...], into: "event")
            try plain.execute("COMMIT")
        }
    }
}
