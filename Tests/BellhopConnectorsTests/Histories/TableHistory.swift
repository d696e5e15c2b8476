import BellhopCore
import BellhopEngine
import BellhopStore
import BellhopTesting
import Simulator
import Synchronization

@testable import BellhopConnectors

/// One random course of a table: what happens in it between polls and between the pages of a poll, what goes wrong on the way, and
/// restarts; held against what must be known after each poll.
struct TableHistory {
    private var random: SeededRandom
    private let practice = Practice()
    private let world: Shared
    private let exchange: InProcess
    private let store: SQLiteStore
    private let clock = TestClock(settlingYields: 1)
    private let settings: TableSettings
    private var source: Spy
    private var poller: Poller
    /// The versions that events have reported so far; nil for a task that left.
    private var told: [String: String?] = [:]
    private var sequence: Int64 = 0
    /// Up to where the last poll that was kept has seen.
    private var kept: Timestamp?
    private(set) var problems: [String] = []
    private(set) var polls = 0

    /// The world, which requests change while they are under way. A class over a mutex for that reason.
    private final class Shared: Sendable {
        let world: Mutex<TableWorld>
        let requests = Mutex(0)
        init(_ world: sending TableWorld) { self.world = Mutex(world) }
    }

    /// Passes on to a source, and keeps what its last list covered and where it stands then. A class over a mutex, because the poller and the test share it.
    final class Spy: Source {
        let base: TableSource
        let coverage = Mutex<Answer.Coverage?>(nil)
        let watermark = Mutex<Timestamp?>(nil)
        init(_ base: TableSource) { self.base = base }
        var name: String { base.name }
        var scope: Scope { base.scope }
        var schema: TaskSchema { base.schema }
        var hidesChanges: Bool { false }
        func list(from standing: Standing) async throws(Failure) -> Answer {
            let answer = try await base.list(from: standing)
            coverage.withLock { $0 = answer.coverage }
            watermark.withLock { $0 = TableCursor(answer.cursor)?.watermark }
            return answer
        }
        func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
            try await base.details(of: keys, in: listing)
        }
    }

    private static let times = TableTimes(overlap: .seconds(20), lag: .seconds(5), reconcile: .seconds(300), few: 0)

    init(seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        let clock = clock
        let simulation = Simulation(seed: seed) { clock.now.microseconds }
        simulation.instance.addUser("john.doe", password: "correct horse", name: "John Doe")
        world = Shared(TableWorld(simulation.instance, seed: seed &+ 1, times: Self.times))
        exchange = InProcess(simulation)
        store = try SQLiteStore.inMemory()
        var settings = try TableSettings(
            Settings(["table": "incident", "query": .string(TableWorld.query), "fields": ["priority", "state"]]),
            source: "incidents")
        settings.times = Self.times
        settings.page = [2, 3, 5, 12].randomElement(using: &random) ?? 3
        self.settings = settings
        self.simulation = simulation
        (source, poller) = try Self.start(settings, exchange, store, clock, practice)
    }

    private let simulation: Simulation

    private static func start(
        _ settings: TableSettings, _ exchange: InProcess, _ store: SQLiteStore, _ clock: TestClock, _ practice: Practice
    ) throws -> (Spy, Poller) {
        var environment = practice.environment()
        environment.clock = clock
        let connection = try ServiceNowConnection(
            name: "snow", settings: practice.settings("http://127.0.0.1:9"), in: environment, over: exchange)
        let source = Spy(try TableSource(name: "incidents", settings: settings, connection: connection))
        let signals = Signals()
        let poller = Poller(
            source, plan: PollPlan(cadence: .every(.seconds(60))),
            in: Surroundings(store: store, clock: clock, signals: signals, random: { 0.5 }))
        return (source, poller)
    }

    mutating func run(steps: Int) async throws {
        for _ in 0..<steps where problems.isEmpty {
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                world.world.withLock { $0.happen() }
                if random.oneIn(3) { await clock.advance(by: .seconds(Int.random(in: 1...4, using: &random))) }
            }
            if random.oneIn(3) { await clock.advance(by: .seconds(Int.random(in: 1...90, using: &random))) }
            if random.oneIn(12) { (source, poller) = try Self.start(settings, exchange, store, clock, practice) }
            try await poll(isDisturbed: random.oneIn(3), isFaulty: random.oneIn(5))
        }
        // At rest, and after all rows were walked, everything is known; an empty list that nothing proves, when it is empty once more.
        for _ in 0..<3 where problems.isEmpty {
            await clock.advance(by: .seconds(1000))
            try await poll(isDisturbed: false, isFaulty: false)
        }
    }

    private mutating func poll(isDisturbed: Bool, isFaulty: Bool) async throws {
        world.world.withLock { $0.rest() }
        let before = Set(world.world.withLock { $0.rows.keys })
        world.requests.withLock { $0 = 0 }
        let (world, seed) = (world, random.next())
        exchange.interrupt { request in
            let count = world.requests.withLock { count in
                count += 1
                return count
            }
            precondition(count < 3000, "a poll never ends")
            if isDisturbed, (seed >> UInt64(count % 60)) & 3 == 0 { world.world.withLock { $0.happen() } }
        }
        let fault = isFaulty ? fail() : nil
        let struck = simulation.faults.struck
        source.coverage.withLock { $0 = nil }
        // What commits while a poll is under way may be as late as the window after it reaches back.
        let started = clock.now
        world.world.withLock { $0.earliest = kept.map { max($0, started - Self.times.lag) - Self.times.overlap } }
        let outcome = try await poller.pollOnce()
        var isHeld = false
        switch outcome {
        case .failed: break
        case .held: isHeld = true
        case .unchanged, .baseline, .changed, .superseded: kept = source.watermark.withLock { $0 } ?? kept
        }
        world.world.withLock { $0.earliest = kept.map { $0 - Self.times.overlap } }
        exchange.interrupt { _ in }
        let isFalse = simulation.faults.struck > struck && (fault == .emptyList || fault == .emptyListCounted)
        simulation.faults.removeAll()
        polls += 1
        let touched = world.world.withLock { $0.touched }
        try await read(steady: before.subtracting(touched))
        if case .baseline = outcome {
            for task in try await store.tasks(in: [source.scope.id])[source.scope.id] ?? [] where told[task.key.text] == nil {
                told[task.key.text] = task.title
            }
        }
        if case .failed(let failure) = outcome {
            // Rows that are counted and all hidden are an error as long as no record of a known task says anything.
            let isHidden = failure.message.contains("X-Total-Count") && world.world.withLock { $0.rows.isEmpty }
            if !isFaulty, !isHidden, failure.reason != .interrupted { problems.append("a poll failed: \(failure.message)") }
            return
        }
        if !isDisturbed, !isFalse, !isHeld { try await compare(isWhole: source.coverage.withLock { $0 } == .whole) }
    }

    private mutating func fail() -> Fault? {
        let faults: [Fault] = [
            .transactionCancelled, .truncatedJSON, .accepted, .badGateway, .resetBefore, .resetAfter, .cutBody,
        ]
        guard let fault = faults.randomElement(using: &random) else { return nil }
        simulation.faults.add(fault, skip: Int.random(in: 0...3, using: &random), times: Int.random(in: 1...2, using: &random))
        return fault
    }

    /// Reads the events since the last time: each version once, in order, each beginning with the version before.
    private mutating func read(steady: Set<String>) async throws {
        for stored in try await store.events(EventQuery(after: sequence, limit: 100_000)) {
            sequence = stored.sequence
            let event = stored.event
            guard event.type.hasTask, let task = event.task else { continue }
            let key = task.key.text
            let known = told[key] ?? nil
            switch event.type {
            case .taskCreated: check(told[key] == nil, "\(key) is created a second time")
            case .taskReturned: check(told[key] != nil && known == nil, "\(key) returns and had not left")
            case .taskChanged:
                check(known == event.data["before"]?["title"]?.asString, "\(key) changes from what it was not")
                check(Self.number(known) < Self.number(task.title), "\(key) changes from \(known ?? "") to \(task.title)")
            case .taskRemoved:
                check(known != nil, "\(key) leaves and was not there")
                check(!steady.contains(key), "\(key) leaves and was there all the time")
                told[key] = .some(nil)
                continue
            default: continue
            }
            told[key] = task.title
        }
    }

    /// Holds what is known against the table.
    private mutating func compare(isWhole: Bool) async throws {
        let known = try await store.tasks(in: [source.scope.id])[source.scope.id] ?? []
        let versions = Dictionary(known.map { ($0.key.text, $0.title) }) { first, _ in first }
        let (rows, stamped) = world.world.withLock { ($0.rows, $0.stamped) }
        let end = (clock.now - Self.times.lag).serviceNow
        for (key, row) in rows where isWhole || stamped.contains(key) && row.time <= end {
            check(
                versions[key] == row.version, "\(key) is \(row.version) at \(row.time) and known as \(versions[key] ?? "nothing")"
            )
        }
        if isWhole { for key in versions.keys where rows[key] == nil { check(false, "\(key) has left and is still known") } }
        // Each known version was reported or belongs to the baseline.
        for (key, version) in versions {
            if let told = told[key] { check(told == version, "\(key) is known as \(version) and told as \(told ?? "gone")") }
            told[key] = version
        }
    }

    private static func number(_ version: String?) -> Int { version.flatMap { Int($0.dropFirst()) } ?? -1 }

    private mutating func check(_ holds: Bool, _ problem: @autoclosure () -> String) {
        if !holds { problems.append("poll \(polls) at \(clock.now): " + problem()) }
    }
}
