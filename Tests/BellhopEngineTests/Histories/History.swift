import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// A random history: changes in the world, polls, routing and deliveries, with faults and restarts at random points.
struct History {
    private var random: SeededRandom
    private var world = World()
    private let bench: Bench
    private let source: ScriptedSource
    private let shelf = RuleShelf()
    private let book: RuleBook
    private let action = ScriptedAction()
    private var poller: Poller
    private var turn: Int64 = 0

    init(seed: UInt64, book: RuleBook) async throws {
        random = SeededRandom(seed: seed)
        bench = try Bench(clock: TestClock(settlingYields: 1))  // no loop sleeps here
        source = bench.source()
        source.edit { $0.reason = .closed }
        self.book = book
        poller = bench.poller(source)
        try await shelf.install(book, in: bench.context)
        for _ in 0..<Int.random(in: 0..<5, using: &random) { world.changeRandomTask(&random) }
    }

    /// Performs this many random steps, then lets everything finish, and returns the differences from the model.
    mutating func run(steps: Int) async throws -> [String] {
        for _ in 0..<steps {
            switch Int.random(in: 0..<12, using: &random) {
            case 0...4: world.changeRandomTask(&random)
            case 5...7: try await poll()
            case 8, 9: try await route()
            case 10: try await dispatch()
            default: try await restart()
            }
            if random.oneIn(3) { await bench.clock.advance(by: .seconds(Int.random(in: 1...90, using: &random))) }
        }
        try await finish()
        return try await differences()
    }

    private mutating func poll() async throws {
        source.set(world.tasks.values.sorted { $0.key < $1.key })
        var isListFalse = false
        switch Int.random(in: 0..<9, using: &random) {
        case 0: source.edit { $0.lists = [.failure(Failure(.gateway, .retry(after: nil), "502"))] }
        case 1: source.edit { $0.details = [Failure(.cut, .retry(after: nil), "cut")] }
        case 2: bench.fail(statement: Int.random(in: 1...40, using: &random))
        case 3:
            let calls: [FaultyStore.Call] = [.open, .remembered, .writes, .commit, .setHealth]
            bench.store.failOnce(calls.randomElement(using: &random) ?? .commit, random.oneIn(2) ? .before : .after)
        case 4:
            isListFalse = true
            source.edit { $0.lists = [.empty, .empty] }
        default: break
        }
        do { _ = try await poller.pollOnce() } catch { /* the injected fault; the store says below what was committed */  }
        endFaults()
        try await notePoll(isListFalse: isListFalse)
    }

    /// Notes a poll in the model if the store has committed it, also if its answer was lost.
    private mutating func notePoll(isListFalse: Bool = false) async throws {
        let kept = try await bench.store.open(source.scope, source: source.name, at: bench.now).turn
        if kept != turn { isListFalse ? world.noteEmptyPoll() : world.notePoll() }
        turn = kept
    }

    private mutating func route() async throws {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bench.fail(statement: Int.random(in: 1...20, using: &random))
        case 1: bench.store.failOnce(.route, random.oneIn(2) ? .before : .after)
        default: break
        }
        let router = Router(bench.context, shelf: shelf, batch: Int.random(in: 1...3, using: &random))
        do { try await router.routePending() } catch { /* the injected fault; the events are routed later */  }
        endFaults()
    }

    /// Performs deliveries; sometimes the process dies meanwhile, leaving attempts without a stored outcome.
    private mutating func dispatch() async throws {
        let dispatcher = Dispatcher(bench.context, actions: { [action] _ in action })
        guard random.oneIn(2) else {
            try await dispatcher.dispatchPending()
            return
        }
        let moment: FaultyStore.Moment = random.oneIn(2) ? .before : .after
        bench.store.fail { $0 == .finish ? moment : nil }
        let ended = StopFlag()
        let failures = bench.recorder.count("store.failed")
        let dying = Task {
            _ = try? await dispatcher.dispatchPending()  // the injected fault
            ended.raise()
        }
        while !ended.isRaised, bench.recorder.count("store.failed") == failures { await Task.yield() }
        await dying.stop()
        endFaults()
        try await restart()
    }

    private mutating func restart() async throws {
        poller = bench.poller(source)
        try await shelf.install(book, in: bench.context)
        try await bench.store.start(.only, at: bench.now)
    }

    private func endFaults() {
        bench.stopFailing()
        bench.store.stopFailing()
        source.edit { state in
            state.lists = []
            state.details = []
        }
    }

    /// Polls, routes and delivers until no work is left.
    private mutating func finish() async throws {
        try await restart()
        for _ in 0..<2 {
            source.set(world.tasks.values.sorted { $0.key < $1.key })
            _ = try await poller.pollOnce()
            try await notePoll()
        }
        try await Router(bench.context, shelf: shelf).routePending()
        try await Dispatcher(bench.context, actions: { [action] _ in action }).dispatchPending()
    }

    /// The differences between the store and the model.
    private func differences() async throws -> [String] {
        var differences: [String] = []
        func compare(_ what: String, _ found: [String: [String]]) {
            guard found != world.reported else { return }
            for key in Set(found.keys).union(world.reported.keys).sorted() where found[key] != world.reported[key] {
                differences.append("\(what) of \(key): \(found[key] ?? []), not \(world.reported[key] ?? [])")
            }
        }
        let events = try await bench.store.events(EventQuery(limit: 100_000)).map(\.event).filter {
            EventCatalogue.builtIn[$0.type]?.hasTask == true
        }
        compare(
            "events",
            Dictionary(grouping: events) { $0.task?.key.text ?? "" }.mapValues {
                $0.map { event in event.task.map { World.line(event.type.name, $0) } ?? "" }
            })
        let deliveries = try await bench.deliveries()
        compare(
            "deliveries",
            Dictionary(grouping: deliveries.map(\.delivery)) { $0.task?.key.text ?? "" }.mapValues { $0.map(\.text) })
        if let open = deliveries.first(where: { $0.state != .done }) {
            differences.append("\(open.delivery.text) is \(open.state)")
        }
        // Attempts begin in the order of the task's events. A repeated one had lost its outcome, and no later one had begun.
        var begun: [String: [String]] = [:]
        for (delivery, _) in action.performed {
            let key = delivery.task?.key.text ?? ""
            if begun[key]?.last != delivery.text { begun[key, default: []].append(delivery.text) }
        }
        compare("attempts", begun)
        return differences
    }
}
