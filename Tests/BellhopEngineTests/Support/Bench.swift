import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Glibc
import Logging
import ServiceLifecycle

@testable import BellhopStore

/// A new store and the context of an engine, in virtual time.
struct Bench: Sendable {
    let store: FaultyStore
    private let faults: StatementFaults
    let clock: TestClock
    let recorder = Recorder()
    let context: EngineContext

    /// - Parameters:
    ///   - wall: the engine's clock; the bench's own by default.
    ///   - random: the value of every random draw.
    ///   - timersAtOnce: the most timers that are decided in one transaction.
    init(clock: TestClock = TestClock(), wall: (any AgentClock)? = nil, random: Double = 0.5, timersAtOnce: Int = 1000) throws {
        faults = StatementFaults()
        store = FaultyStore(try Stores.inMemory(faults: faults))
        self.clock = clock
        var context = EngineContext(store: store, clock: wall ?? clock, signals: recorder.signals, random: { random })
        context.timersAtOnce = timersAtOnce
        self.context = context
    }

    var now: Timestamp { clock.now }

    /// The context of a new run of the agent, which knows only the store.
    var restarted: EngineContext { EngineContext(store: store, clock: clock, signals: recorder.signals, random: { 0.5 }) }

    /// Makes the n-th writing statement from now fail, once.
    func fail(statement count: Int) { faults.fail(statement: count) }

    /// Lets all statements succeed again. Returns whether one had failed.
    @discardableResult
    func stopFailing() -> Bool { faults.stop().failed }

    /// Lets the loops run until they wait for the clock or for each other: no call of the store is open, and none was begun for
    /// two milliseconds of real time. The time is needed because the system may suspend a thread in the middle of a loop's turn.
    func settle() async {
        var seen = FaultyStore.Traffic(begun: -1)
        var quiet = 0
        while quiet < 16 {
            quiet = store.calls == seen && seen.open == 0 ? quiet + 1 : 0
            seen = store.calls
            usleep(100)
            await clock.settle()
        }
    }

    /// Moves the clock to a moment, from deadline to deadline, and lets the loops settle at each.
    func run(until end: Timestamp) async {
        await settle()
        while let next = clock.nextDeadline, next <= end {
            await clock.advance(to: next)
            await settle()
        }
        await clock.advance(to: end)
        await settle()
    }

    func source(_ tasks: [Snapshot] = []) -> ScriptedSource { ScriptedSource(tasks: tasks, clock: context.clock) }

    func poller(_ source: ScriptedSource, _ plan: PollPlan = .minutely) -> Poller {
        Poller(source, plan: plan, in: context)
    }

    /// A poller of a source after its first poll.
    func polled(_ source: ScriptedSource, _ plan: PollPlan = .minutely) async throws -> Poller {
        var poller = poller(source, plan)
        _ = try await poller.pollOnce()
        return poller
    }

    static func with(_ tasks: [Snapshot] = []) throws -> (bench: Bench, source: ScriptedSource) {
        let bench = try Bench()
        return (bench, bench.source(tasks))
    }

    /// A new bench, with a source of these tasks and its poller after the first poll.
    static func polled(
        _ tasks: [Snapshot] = [], _ plan: PollPlan = .minutely
    ) async throws -> (bench: Bench, source: ScriptedSource, poller: Poller) {
        let (bench, source) = try with(tasks)
        return (bench, source, try await bench.polled(source, plan))
    }

    /// Polls a source in a loop while the work is done.
    func whilePolling(
        _ source: ScriptedSource, _ plan: PollPlan = .minutely, bell: PollBell = PollBell(), _ work: () async throws -> Void
    ) async throws {
        let context = context
        let polling = Task {
            var poller = Poller(source, plan: plan, in: context, bell: bell)
            await poller.run()
        }
        try await work()
        await polling.stop()
    }

    /// An engine that polls these sources each minute and performs deliveries by this action.
    func engine(
        _ action: ScriptedAction = ScriptedAction(), shelf: RuleShelf = RuleShelf(), sources: [ScriptedSource] = [],
        limits: Dispatcher.Limits = .init()
    ) -> Engine {
        Engine(context, shelf: shelf, sources: sources.map { ($0, .minutely) }, limits: limits, actions: { _ in action })
    }

    /// Stores events and routes them by these rules.
    func route(_ events: [Event], by shelf: RuleShelf) async throws {
        try await store.append(events)
        try await Router(context, shelf: shelf).routePending()
    }

    /// Runs a dispatcher in a loop until it is stopped.
    func dispatching(
        _ action: ScriptedAction, limits: Dispatcher.Limits = .init(),
        receivers: @escaping @Sendable (String) -> ReceiverLimits = { _ in ReceiverLimits() }
    ) -> Task<Void, Never> {
        Task { [context] in await Dispatcher(context, limits: limits, receivers: receivers, actions: { _ in action }).run() }
    }

    /// Runs timers in a loop until it is stopped.
    func timing(_ shelf: RuleShelf) -> Task<Void, Never> { Task { [context] in await TimerLoop(context, shelf: shelf).run() } }

    /// Installs rules.
    func shelf(
        _ rules: String, sources: [ScriptedSource] = [], hours: String = "08:00-17:00", maxKeys: Int = RuleRegistration.maxKeys
    ) async throws -> RuleShelf {
        let shelf = RuleShelf()
        let book = try RuleBook.test(rules, sources: sources, hours: hours, maxKeys: maxKeys)
        try await shelf.install(book, in: context)
        return shelf
    }

    /// All events, one per line, in the order of the bus.
    func eventLines() async throws -> [String] { try await store.events(EventQuery(limit: 100_000)).map(\.event.line) }

    func deliveries(_ states: DeliveryState...) async throws -> [DeliveryRecord] {
        try await store.deliveries(DeliveryQuery(states: states, limit: 100_000))
    }
}

/// Waits for a condition that other tasks make true. Throws if the test is cancelled first, as by its time limit.
func waitUntil(_ condition: () async throws -> Bool) async throws {
    while try await !condition() {
        try Task.checkCancellation()
        await Task.yield()
    }
}

extension Task<Void, Never> {
    /// Cancels a loop and waits for its end.
    func stop() async {
        cancel()
        await value
    }
}

/// An engine that runs in a group of services.
struct RunningEngine {
    let group: ServiceGroup
    let running: Task<Void, any Error>

    func stop() async throws {
        await group.triggerGracefulShutdown()
        try await running.value
    }
}

func runAsService(_ engine: Engine) -> RunningEngine {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let group = ServiceGroup(
        configuration: .init(
            services: [.init(service: engine, successTerminationBehavior: .gracefullyShutdownGroup)], logger: logger))
    return RunningEngine(group: group, running: Task { try await group.run() })
}

extension PollPlan { static let minutely = PollPlan(cadence: .every(.seconds(60))) }

/// A task with a title, which is listed, and fields, which are only in the details.
func task(_ key: String, _ title: String = "printer on fire", fields: JSON.Object) -> Snapshot { task(key, title, fields) }

func task(_ key: String, _ title: String = "printer on fire", _ fields: JSON.Object = ["priority": 3]) -> Snapshot {
    Snapshot(
        key: TaskKey(key), number: "INC-\(key)", title: title, type: "Incident", className: "incident",
        url: "https://acme.example/\(key)", fields: fields)
}

func tasks(_ numbers: Range<Int>, _ title: String = "printer on fire") -> [Snapshot] { numbers.map { task("t\($0)", title) } }

extension Event {
    /// The creation of the task `t1`, `t2`, …
    static func created(_ number: Int, at time: Timestamp) -> Event {
        Event(
            id: ID(type: .taskCreated, facts: String(number)), type: .taskCreated, source: "my-work",
            subject: "https://acme.example/t\(number)", time: time,
            data: ["task": BellhopEngineTests.task("t\(number)").json(source: "my-work")])
    }

    /// The event on one line: its type, its task or subject, and what distinguishes it from others of its type.
    var line: String {
        var parts = [type.name, task?.key.text ?? subject]
        if case .object(let changes)? = data["changes"] {
            parts += changes.map { "\($0): \($1["from"] ?? .null) → \($1["to"] ?? .null)" }.sorted()
        }
        for name in ["reason", "error", "due", "missed", "counts"] {
            switch data[name] {
            case .string(let text)?: parts.append(text)
            case .object(let members)?: parts.append(JSON.object(members).text(.sorted))
            case let other?: parts.append(other.text)
            case nil: break
            }
        }
        return parts.joined(separator: " ")
    }
}
