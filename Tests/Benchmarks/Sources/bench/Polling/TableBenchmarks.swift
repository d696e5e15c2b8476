import AsyncHTTPClient
import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopStore
import NIOCore

/// Measures polls of a table over HTTP: the first sync, and a poll of many rows without changes.
enum TableBenchmarks {
    static let all = [
        Benchmark(name: "table.sync", summary: "the first sync of a table of 100,000 rows, over HTTP", run: sync),
        Benchmark(name: "table.quiet", summary: "polls of a table of 1,000,000 unchanged rows", run: quiet),
    ]

    // MARK: The first sync

    private static func sync(_ bench: Bench) async throws -> [Measurement] {
        let answer = TableAnswer(rows: bench.size(100_000))
        let server = TableServer(answer)
        let address = try await server.start()
        var (ours, reading, bare): ([Double], [Double], [Double]) = ([], [], [])
        for round in 0..<bench.repetitions {
            bench.say("round \(round + 1)")
            ours.append(try await keepAll(of: answer, at: address, in: "\(bench.folder)/table-\(round).db"))
            reading.append(try await readAll(of: answer, at: address))
            bare.append(try await downloadAll(of: answer, at: address))
        }
        try await server.stop()
        let rate = { (times: [Double]) in Quantity.rate(Double(answer.count) / times.median, of: "rows") }
        return [
            Measurement(
                "table.sync", rate(ours),
                beside: .init(name: "the same pages downloaded and parsed", quantity: rate(bare)), aim: .ratio(atLeast: 0.5),
                remark:
                    "\(answer.count) rows in \(answer.pages.count) pages, \(answer.bytes / 1_000_000) MB, from a server on this machine: requested, "
                    + "checked against the query, compared, made into tasks and stored on disk in \(Quantity.time(ours.median)); "
                    + "without the store \(Quantity.time(reading.median)); the bare download and parse took \(Quantity.time(bare.median))."
            )
        ]
    }

    /// The seconds for a first poll, from login to data on disk.
    private static func keepAll(of answer: TableAnswer, at address: String, in path: String) async throws -> Double {
        let store = try Stores.open(path)
        let connection = try connection(to: address, notebook: store)
        let source = try source(connection)
        let context = EngineContext(store: store, clock: SystemClock(), signals: Signals())
        var poller = Poller(source, plan: PollPlan(cadence: .every(.seconds(60))), in: context)
        let time = try await Stopwatch.seconds {
            let outcome = try await poller.pollOnce()
            guard case .baseline(answer.count) = outcome else { throw BenchError("the first sync ended as \(outcome)") }
        }
        try await connection.shutdown()
        try await store.close()
        return time
    }

    /// The seconds until every row is a task in memory.
    private static func readAll(of answer: TableAnswer, at address: String) async throws -> Double {
        let connection = try connection(to: address, notebook: NoOpSink())
        let source = try source(connection)
        let time = try await Stopwatch.seconds {
            let listing = try await source.list(from: LastPoll()).listing
            let details = try await source.details(of: listing.entries.map(\.key), in: listing)
            guard details.snapshots.count == answer.count else { throw BenchError("\(details.snapshots.count) rows were read") }
        }
        try await connection.shutdown()
        return time
    }

    /// The yardstick: the seconds for fetching the same pages one after the other and parsing each.
    private static func downloadAll(of answer: TableAnswer, at address: String) async throws -> Double {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let time = try await Stopwatch.seconds {
            var (last, count) = ("", 0)
            while count < answer.count {
                let request = HTTPClientRequest(url: address + TableServer.path(after: last))
                let response = try await client.execute(request, deadline: .now() + .seconds(30))
                let body = try await response.body.collect(upTo: 1 << 24)
                let rows = try JSON.parse(Array(body.readableBytesView))["result"]?.asArray ?? []
                guard let id = rows.last?["sys_id"]?.asString else { throw BenchError("a page is empty") }
                (last, count) = (id, count + rows.count)
            }
        }
        try await client.shutdown()
        return time
    }

    // MARK: A quiet poll

    private static func quiet(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(1_000_000)
        let answer = TableAnswer(rows: 2000)
        let server = TableServer(answer)
        let connection = try connection(to: try await server.start(), notebook: NoOpSink())
        let source = try source(connection)
        bench.say("\(count) known rows")
        var lastPoll = LastPoll(known: KnownTasks(Tasks.keys(count, seed: 9).map { KnownTask(key: $0, listed: .zero) }))
        lastPoll.cursor = try await source.list(from: lastPoll).cursor
        _ = server.takeTraffic()
        var (times, sizes, requests): ([Double], [Double], [Int]) = ([], [], [])
        for _ in 0..<bench.repetitions * 20 {
            let start = ContinuousClock.now
            let listed = try await source.list(from: lastPoll)
            let comparison = lastPoll.known.compare(with: listed)
            times.append((ContinuousClock.now - start).inSeconds)
            guard listed.coverage == .part, comparison.isEmpty else { throw BenchError("the poll was not quiet") }
            let traffic = server.takeTraffic()
            requests.append(traffic.requests)
            sizes.append(Double(traffic.received + traffic.sent))
        }
        try await connection.shutdown()
        try await server.stop()
        guard requests.allSatisfy({ $0 == 1 }) else { throw BenchError("a quiet poll asked \(requests.max() ?? 0) times") }
        return [
            Measurement(
                "table.quiet", .time(times.median), aim: .figure(atMost: 0.005),
                remark:
                    "A poll of \(count) known, unchanged rows: one request, \(Int(sizes.median)) bytes with the answer and all "
                    + "headers; \(Quantity.time(times.quantile(0.99))) at the 99th percentile of \(times.count).")
        ]
    }

    // MARK: The agent's side

    private static func connection(to address: String, notebook: any Notebook) throws -> ServiceNowConnection {
        let environment = ConnectorEnvironment(
            clock: SystemClock(), events: NoOpSink(), notebook: notebook, login: { _ in nil }, baseFolder: "",
            output: { _ in })
        let settings: JSON.Object = [
            "instance": .string(address), "auth": ["basic": ["username": "john.doe", "password": "correct horse"]],
        ]
        return try ServiceNowConnection(name: "snow", settings: Settings(settings), in: environment)
    }

    private static func source(_ connection: ServiceNowConnection) throws -> TableSource {
        let settings: JSON.Object = ["table": .string(TableAnswer.table), "query": .string(TableAnswer.query)]
        return try TableSource(name: "incidents", settings: Settings(settings), connection: connection)
    }
}
