import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopStore

/// Measures rules that wait, count and gather.
enum WaitingBenchmarks {
    static let all = [
        Benchmark(
            name: "wait.memory",
            summary: "routing in memory through 100 rules, of which 20 use `for`, `count`, `group` or absence", run: memory),
        Benchmark(
            name: "wait.durable", summary: "events from the store through these rules, one in ten changing state (T2)",
            run: durable), Benchmark(name: "wait.due", summary: "100,000 timers that are due at once", run: due),
        Benchmark(name: "wait.start", summary: "a start beside 1,000,000 timers that are not due", run: start),
        Benchmark(name: "wait.tasks", summary: "a rule that reads `tasks` of a source with 100,000, for each event", run: tasks),
    ]

    private static let batch = 1000

    // MARK: In memory

    private static func memory(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(100_000)
        let (waiting, plain) = (RuleSet(count: 100, hasWaits: true), RuleSet(count: 100))
        let (book, plainBook) = (try waiting.book(), try plain.book())
        let events = waiting.events(count, seed: 5, at: SystemClock().now)
        var (ours, bare): ([Double], [Double]) = ([], [])
        for _ in 0..<(bench.repetitions + 2) {
            ours.append(try pass(events, book))
            bare.append(try pass(events, plainBook))
        }
        return [
            Measurement(
                "wait.memory", .rate(Double(count) / ours.median, of: "events"),
                beside: .init(
                    name: "the same rules without `for`, `count`, `group` and absence",
                    quantity: .rate(Double(count) / bare.median, of: "events")), aim: .ratio(atLeast: 0.5),
                remark:
                    "\(Quantity.figures(ours.median / Double(count) * 1e9)) ns of processor time per event; one in ten matches "
                    + "a rule, one in fifty a rule that waits.")
        ]
    }

    /// The seconds for all events. Each batch reads the state that the previous ones wrote.
    private static func pass(_ events: [Event], _ book: RuleBook) throws -> Double {
        let stored = events.enumerated().map { StoredEvent(sequence: Int64($0 + 1), event: $1) }
        let known = Dictionary(uniqueKeysWithValues: stored.map { ($0.sequence, $0) })
        let now = SystemClock().now
        var state = RuleState()
        var (time, runs) = (0.0, 0)
        for start in stride(from: 0, to: stored.count, by: batch) {
            let events = Array(stored[start..<min(start + batch, stored.count)])
            var routing = Routing()
            let facts = RoutingFacts(state: state, tasks: [:], events: known)
            time += Stopwatch.processorSeconds {
                routing = book.decide(book.match(events, since: [:]), facts, at: now).complete
            }
            state.apply(routing.state)
            runs += routing.deliveries.count
        }
        guard runs > 0 else { throw BenchError("no rule ran") }
        return time
    }

    // MARK: From the store to the store

    private static func durable(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(100_000)
        let (waiting, plain) = (RuleSet(count: 100, hasWaits: true), RuleSet(count: 100))
        let (book, plainBook) = (try waiting.book(), try plain.book())
        let events = waiting.events(count, seed: 6, at: SystemClock().now, hitting: waiting.waiting)
        var (ours, bare): ([Double], [Double]) = ([], [])
        for round in 0..<bench.repetitions {
            bench.say("round \(round + 1)")
            ours.append(try await route(events, book, "\(bench.folder)/waiting-\(round).db"))
            bare.append(try await route(events, plainBook, "\(bench.folder)/plain-\(round).db"))
        }
        return [
            Measurement(
                "wait.durable", .rate(Double(count) / ours.median, of: "events"),
                beside: .init(
                    name: "the same rules without `for`, `count`, `group` and absence",
                    quantity: .rate(Double(count) / bare.median, of: "events")),
                aim: .figure(atLeast: 20_000), remark: "One event in ten matches one of these 20.")
        ]
    }

    private static func route(_ events: [Event], _ book: RuleBook, _ path: String) async throws -> Double {
        let (store, context, shelf) = try await openStore(book, path)
        try await store.append(events, inBatchesOf: 10_000)
        let router = Router(context, shelf: shelf, timers: TimerLoop(context, shelf: shelf), batch: batch)
        let time = try await Stopwatch.seconds {
            let routed = try await router.routePending()
            guard routed == events.count else { throw BenchError("\(routed) of \(events.count) events were routed") }
        }
        try await store.close()
        return time
    }

    private static func openStore(_ book: RuleBook, _ path: String) async throws -> (any Store, EngineContext, RuleShelf) {
        let store = try Stores.open(path)
        let context = EngineContext(store: store, clock: SystemClock(), signals: Signals())
        let shelf = RuleShelf()
        try await shelf.install(book, in: context)
        return (store, context, shelf)
    }

    // MARK: Timers

    private static let wait = Duration.seconds(10 * 60)
    private static let patient = """
        rule: patient
        on: task_created
        when: task.priority == 1
        do:
          - webhook: {url: "http://127.0.0.1:9/hook", json: {number: "${{ task.number }}"}}

        """

    /// A rule of the events that come while timers fire.
    private static let other = """
        ---
        rule: other
        on: session_expired
        do:
          - webhook: {url: "http://127.0.0.1:9/hook", json: {source: "${{ event.source }}"}}

        """

    private static func book(waits: Bool = true) throws -> RuleBook {
        try RuleSet.book(patient + (waits ? "for: 10m\n" : "") + other)
    }

    private static func due(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(100_000)
        let keys = Tasks.keys(count, seed: 7)
        let snapshots = keys.enumerated().map { Tasks.snapshot($0, key: $1, priority: 1) }
        let (store, context, shelf) = try await openStore(try book(), "\(bench.folder)/due.db")
        let turn = try await store.open(Tasks.scope, source: Tasks.source, at: SystemClock().now).turn
        guard case .committed = try await store.commit(Tasks.poll(snapshots, turn: turn, at: SystemClock().now)) else {
            throw BenchError("the poll was not stored")
        }
        let timers = TimerLoop(context, shelf: shelf)
        // All waits end as soon as they have begun.
        let began = SystemClock().now - wait
        try await store.append(snapshots.map { Tasks.event(.taskCreated, $0, at: began) }, inBatchesOf: 10_000)
        _ = try await Router(context, shelf: shelf, batch: batch).routePending()
        Machine.giveBackMemory()
        try Machine.resetPeak()
        let memory = Machine.memory("VmRSS") ?? 0
        let router = Router(context, shelf: shelf, timers: timers, batch: batch)
        let (time, others) = try await withThrowingTaskGroup(of: [Double?].self) { group in
            group.addTask { try await routeOthers(in: context, by: router) }
            let time = try await Stopwatch.seconds {
                let fired = try await timers.fireDue()
                guard fired == count else { throw BenchError("\(fired) of \(count) timers fired") }
            }
            group.cancelAll()
            return (time, try await group.next() ?? [])
        }
        _ = try await router.routePending()
        let waits = others.compactMap(\.self)
        let peak = (Machine.memory("VmHWM") ?? 0) - memory
        let made = try await store.status(at: SystemClock().now).deliveries.values.reduce(0, +) - others.count
        guard made == count, let longest = waits.max() else {
            throw BenchError("\(made) runs of \(count), and \(waits.count) of other rules")
        }
        try await store.close()
        let plain = try await route(
            snapshots.map { Tasks.event(.taskCreated, $0, at: began) }, try book(waits: false), "\(bench.folder)/plain.db")
        return [
            Measurement(
                "wait.due", .rate(Double(count) / time, of: "runs"),
                beside: .init(
                    name: "runs of the rule without `for`, by events", quantity: .rate(Double(count) / plain, of: "runs")),
                aim: .figure(atLeast: 20_000),
                remark: "Each judged on the task as it is in the store, beside twenty other events a second."),
            Measurement(
                "wait.peak", .memory(Double(peak), per: nil), aim: .figure(atMost: 64e6),
                remark: "The most memory that they need more than before. Half a kilobyte for each that is due would be 50 MB."),
            Measurement(
                "wait.others", .time(longest), beside: .init(name: "their median", quantity: .time(waits.median)),
                aim: .figure(atMost: 0.1),
                remark: "The longest of \(waits.count) events, from storing it until it was routed, while these timers fired."),
        ]
    }

    /// Until it is cancelled, stores an event that concerns no timer, routes it, and pauses. Returns the seconds of each; nil if the
    /// cancellation interrupted it.
    private static func routeOthers(in context: EngineContext, by router: Router) async throws -> [Double?] {
        var times: [Double?] = []
        while !Task.isCancelled {
            let now = SystemClock().now
            let event = Event(
                id: Event.ID(type: .sessionExpired, facts: "\(times.count)"), type: .sessionExpired, source: Tasks.source,
                subject: Tasks.source, time: now, data: [:])
            let time = try await Stopwatch.seconds {
                try await context.store.append([event])
                // The loop of the timers may route it, too.
                _ = try await router.routePending()
            }
            times.append(Task.isCancelled ? nil : time)
            try? await SystemClock().sleep(for: .milliseconds(50))
        }
        return times
    }

    private static func start(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(1_000_000)
        var times: [Double] = []
        for waits in [0, count] {
            let path = "\(bench.folder)/start-\(waits).db"
            do {
                let (store, _, _) = try await openStore(try book(), path)
                let due = SystemClock().now + .seconds(86_400)
                for start in stride(from: 0, to: waits, by: 10_000) {
                    var routing = Routing()
                    for number in start..<min(start + 10_000, waits) {
                        let id = RuleTimer.ID(rule: "patient", kind: .hold, key: "\(Tasks.source)/\(number)")
                        routing.timers.append(.set(RuleTimer(id, due: due)))
                        let value: JSON = [
                            "at": .int(due.microseconds), "source": .string(Tasks.source), "subject": "s",
                            "due": .int(due.microseconds), "ran": false,
                        ]
                        routing.state.append(
                            StateWrite(StateKey(rule: "patient", kind: .hold, key: id.key), .set(value, expires: nil)))
                    }
                    _ = try await store.route(routing)
                }
                try await store.close()
            }
            bench.say("\(waits) timers wait")
            var own: [Double] = []
            for _ in 0..<bench.repetitions {
                own.append(
                    try await Stopwatch.seconds {
                        let (store, context, shelf) = try await openStore(try book(), path)
                        _ = try await TimerLoop(context, shelf: shelf).fireDue()
                        _ = try await store.nextTimer()
                        try await store.close()
                    })
            }
            times.append(own.median)
        }
        return [
            Measurement(
                "wait.start", .time(times[1] - times[0]), beside: .init(name: "without timers", quantity: .time(times[0])),
                aim: .figure(atMost: 0.2), remark: "The store is opened, the rules are installed, and what is due fires.")
        ]
    }

    // MARK: Tasks

    private static let reader = """
        rule: reader
        on: task_changed
        when: size(tasks) > 10 && task.priority == 1
        do:
          - webhook: {url: "http://127.0.0.1:9/hook", json: {number: "${{ task.number }}", open: "${{ size(tasks) }}"}}

        """

    private static func tasks(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(100_000)
        var snapshots = Tasks.keys(count, seed: 9).enumerated().map { Tasks.snapshot($0, key: $1) }
        let (store, context, shelf) = try await openStore(try RuleSet.book(reader), "\(bench.folder)/tasks.db")
        let router = Router(context, shelf: shelf, batch: batch)
        let clock = SystemClock()
        var turn = try await store.open(Tasks.scope, source: Tasks.source, at: clock.now).turn
        func poll(_ snapshots: [Snapshot], _ events: [Event]) async throws {
            guard
                case .committed(let next, events.count) = try await store.commit(
                    Tasks.poll(snapshots, events: events, turn: turn, at: clock.now))
            else { throw BenchError("the poll was not stored") }
            turn = next
        }
        try await poll(snapshots, [])
        var (times, polls): ([Double], [Double]) = ([], [])
        for round in 0..<bench.size(400) {
            let place = round * 37 % count
            snapshots[place].fields["priority"] = 1
            snapshots[place].title += "."
            let changed = snapshots[place]
            var event = Tasks.event(.taskChanged, changed, at: clock.now)
            event.id = Event.ID(type: .taskChanged, facts: Tasks.source, "\(round)")
            polls.append(try await Stopwatch.seconds { try await poll([changed], [event]) })
            times.append(try await Stopwatch.seconds { _ = try await router.routePending() })
        }
        let made = try await store.status(at: SystemClock().now).deliveries.values.reduce(0, +)
        guard made == times.count else { throw BenchError("\(made) runs of \(times.count)") }
        try await store.close()
        return [
            Measurement(
                "wait.tasks", .time(times.median), beside: .init(name: "storing the change", quantity: .time(polls.median)),
                aim: .figure(atMost: 0.001),
                remark: "Each event comes with a poll in which one task changed; routing it, on disk.")
        ]
    }
}
