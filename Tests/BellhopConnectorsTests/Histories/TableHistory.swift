import BellhopCore
import BellhopEngine
import BellhopStore
import BellhopTesting
import Simulator
import Synchronization

@testable import BellhopConnectors

/// A random history of a table: changes between polls and between the pages of a poll, faults and restarts, compared with the
/// expected state after each poll.
struct TableHistory {
    private var random: SeededRandom
    private let practice = Practice()
    private let world: SharedWorld
    private let exchange: InProcessExchange
    private let store: any Store
    private let clock = TestClock(settlingYields: 1)
    private let settings: TableSettings
    private var source: RecordingSource
    private var poller: Poller
    /// The versions that events have reported so far; nil for a task that left.
    private var reported: [String: String?] = [:]
    private var sequence: Int64 = 0
    /// The position up to which the last committed poll has seen the table.
    private var committedWatermark: Timestamp?
    private(set) var problems: [String] = []
    private(set) var polls = 0

    /// The world. A class with a mutex, because requests change it while they run.
    private final class SharedWorld: Sendable {
        let world: Mutex<TableWorld>
        let requests = Mutex(0)
        /// Whether the account could see no row during a request of this poll.
        let sawNoRow = Mutex(false)
        init(_ world: sending TableWorld) { self.world = Mutex(world) }
    }

    /// Forwards to a source, and records its last list's coverage and position. A class with a mutex: poller and test share it.
    final class RecordingSource: Source {
        let base: TableSource
        let coverage = Mutex<Answer.Coverage?>(nil)
        let watermark = Mutex<Timestamp?>(nil)
        init(_ base: TableSource) { self.base = base }
        var name: String { base.name }
        var scope: Scope { base.scope }
        var schema: TaskSchema { base.schema }
        var definitions: [String: String] { base.definitions }
        var hidesChanges: Bool { false }
        func list(from lastPoll: LastPoll) async throws(Failure) -> Answer {
            let answer = try await base.list(from: lastPoll)
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
        world = SharedWorld(TableWorld(simulation.instance, seed: seed &+ 1, times: Self.times))
        exchange = InProcessExchange(simulation)
        store = try Stores.inMemory()
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
        _ settings: TableSettings, _ exchange: InProcessExchange, _ store: any Store, _ clock: TestClock, _ practice: Practice
    ) throws -> (RecordingSource, Poller) {
        var environment = practice.environment()
        environment.clock = clock
        let connection = try ServiceNowConnection(
            name: "snow", settings: practice.settings("http://127.0.0.1:9"), in: environment, over: exchange)
        let source = RecordingSource(try TableSource(name: "incidents", settings: settings, connection: connection))
        let signals = Signals()
        let poller = Poller(
            source, plan: PollPlan(cadence: .every(.seconds(60))),
            in: EngineContext(store: store, clock: clock, signals: signals, random: { 0.5 }))
        return (source, poller)
    }

    mutating func run(steps: Int) async throws {
        for _ in 0..<steps where problems.isEmpty {
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                world.world.withLock { $0.changeRandomRow() }
                if random.oneIn(3) { await clock.advance(by: .seconds(Int.random(in: 1...4, using: &random))) }
            }
            if random.oneIn(3) { await clock.advance(by: .seconds(Int.random(in: 1...90, using: &random))) }
            if random.oneIn(12) { (source, poller) = try Self.start(settings, exchange, store, clock, practice) }
            try await poll(isDisturbed: random.oneIn(3), isFaulty: random.oneIn(5))
        }
        // After all rows were read without faults, everything is known; an unproved empty list must be empty twice.
        for _ in 0..<3 where problems.isEmpty {
            await clock.advance(by: .seconds(1000))
            try await poll(isDisturbed: false, isFaulty: false)
        }
    }

    private mutating func poll(isDisturbed: Bool, isFaulty: Bool) async throws {
        world.world.withLock { $0.beginPoll() }
        let before = Set(world.world.withLock { $0.rows.keys })
        world.requests.withLock { $0 = 0 }
        world.sawNoRow.withLock { $0 = false }
        let (world, seed) = (world, random.next())
        exchange.interrupt { request in
            let count = world.requests.withLock { count in
                count += 1
                return count
            }
            precondition(count < 3000, "a poll never ends")
            if isDisturbed, (seed >> UInt64(count % 60)) & 3 == 0 { world.world.withLock { $0.changeRandomRow() } }
            if world.world.withLock({ $0.rows.isEmpty }) { world.sawNoRow.withLock { $0 = true } }
        }
        let fault = isFaulty ? addRandomFault() : nil
        let struck = simulation.faults.struck
        source.coverage.withLock { $0 = nil }
        // A transaction committed during a poll is at most as late as the overlap of the next window.
        let started = clock.now
        world.world.withLock { $0.earliest = committedWatermark.map { max($0, started - Self.times.lag) - Self.times.overlap } }
        let outcome = try await poller.pollOnce()
        var isHeld = false
        switch outcome {
        case .failed: break
        case .held: isHeld = true
        case .unchanged, .baseline, .changed, .superseded:
            committedWatermark = source.watermark.withLock { $0 } ?? committedWatermark
        }
        world.world.withLock { $0.earliest = committedWatermark.map { $0 - Self.times.overlap } }
        exchange.interrupt { _ in }
        let isFalselyEmpty = simulation.faults.struck > struck && (fault == .emptyList || fault == .emptyListCounted)
        simulation.faults.removeAll()
        polls += 1
        let touched = world.world.withLock { $0.touched }
        try await read(steady: before.subtracting(touched))
        if case .baseline = outcome {
            for task in try await store.tasks(in: [source.scope.id])[source.scope.id] ?? [] where reported[task.key.text] == nil {
                reported[task.key.text] = task.title
            }
        }
        if case .failed(let failure) = outcome {
            // If all counted rows are hidden, that is an error until a known task's record answers.
            // Rows may become visible later in the poll.
            let isHidden = failure.message.contains("X-Total-Count") && world.sawNoRow.withLock { $0 }
            // All counted rows may leave before they are read: such a poll is discarded, and the next one reads all rows.
            let isDrained = isDisturbed && failure.message.contains("answered twice with an empty page that counts none")
            if !isFaulty, !isHidden, !isDrained, failure.reason != .interrupted {
                problems.append("a poll failed: \(failure.message)")
            }
            return
        }
        if !isDisturbed, !isFalselyEmpty, !isHeld { try await compare(isWhole: source.coverage.withLock { $0 } == .whole) }
    }

    private mutating func addRandomFault() -> Fault? {
        let faults: [Fault] = [
            .transactionCancelled, .truncatedJSON, .accepted, .badGateway, .resetBefore, .resetAfter, .cutBody,
        ]
        guard let fault = faults.randomElement(using: &random) else { return nil }
        simulation.faults.add(fault, skip: Int.random(in: 0...3, using: &random), times: Int.random(in: 1...2, using: &random))
        return fault
    }

    /// Reads the new events: each version occurs once, in order, and each starts from the version before.
    private mutating func read(steady: Set<String>) async throws {
        for stored in try await store.events(EventQuery(after: sequence, limit: 100_000)) {
            sequence = stored.sequence
            let event = stored.event
            guard EventCatalogue.builtIn[event.type]?.hasTask == true, let task = event.task else { continue }
            let key = task.key.text
            let known = reported[key] ?? nil
            switch event.type {
            case .taskCreated: check(reported[key] == nil, "\(key) is created a second time")
            case .taskReturned: check(reported[key] != nil && known == nil, "\(key) returns but had not left")
            case .taskChanged:
                check(known == event.data["before"]?["title"]?.asString, "\(key) changes from a version it did not have")
                check(Self.number(known) < Self.number(task.title), "\(key) changes from \(known ?? "") to \(task.title)")
            case .taskRemoved:
                check(known != nil, "\(key) leaves but was not listed")
                check(!steady.contains(key), "\(key) leaves although it was always listed")
                reported[key] = .some(nil)
                continue
            default: continue
            }
            reported[key] = task.title
        }
    }

    private mutating func compare(isWhole: Bool) async throws {
        let known = try await store.tasks(in: [source.scope.id])[source.scope.id] ?? []
        let versions = Dictionary(known.map { ($0.key.text, $0.title) }) { first, _ in first }
        let (rows, stamped) = world.world.withLock { ($0.rows, $0.stamped) }
        let end = (clock.now - Self.times.lag).sql
        for (key, row) in rows where isWhole || stamped.contains(key) && row.time <= end {
            check(
                versions[key] == row.version, "\(key) is \(row.version) at \(row.time) and known as \(versions[key] ?? "nothing")"
            )
        }
        if isWhole { for key in versions.keys where rows[key] == nil { check(false, "\(key) has left but is still known") } }
        // Each known version was reported or belongs to the baseline.
        for (key, version) in versions {
            if let reported = reported[key] {
                check(reported == version, "\(key) is known as \(version) and reported as \(reported ?? "gone")")
            }
            reported[key] = version
        }
    }

    private static func number(_ version: String?) -> Int { version.flatMap { Int($0.dropFirst()) } ?? -1 }

    private mutating func check(_ holds: Bool, _ problem: @autoclosure () -> String) {
        if !holds { problems.append("poll \(polls) at \(clock.now): " + problem()) }
    }
}
