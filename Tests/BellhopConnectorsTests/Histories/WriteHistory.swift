import BellhopCore
import BellhopStore
import BellhopTesting
import Simulator

@testable import BellhopConnectors

/// A random history of writes to one task, from their claims to their stored proofs, on an ``UnreliableExchange``. At its end, what was
/// written is compared with what became of the deliveries.
///
/// The contract, whatever was lost, late or killed:
/// - What is `done` was written exactly once, what is `held` at most once, and what is `dead` never.
/// - Nothing is `dead`, because the instance refuses nothing, and while this account can read all it wrote, nothing is `held`.
/// - The comments of one lane are in the order of their deliveries, and a field has the value of the last update.
/// - Equal texts of other users, and equal texts of other deliveries, prove nothing.
struct WriteHistory {
    private static let username = "john.doe"
    private static let texts = ["Please call back", "We have called back"]
    /// Each action has its own rule and lane.
    private static let actions = ["work_notes", "comments", "update", "attach", "create"]

    private var random: SeededRandom
    private let practice = Practice()
    private let clock = TestClock(settlingYields: 1)
    private let simulation: Simulation
    private let exchange: UnreliableExchange
    private let store: any Store
    private let task: SimulatedTask
    private let readsJournal: Bool
    private var connection: ServiceNowConnection
    private(set) var problems: [String] = []

    private var instance: SimulatedInstance { simulation.instance }

    init(seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        let clock = clock
        simulation = Simulation(seed: seed) { clock.now.microseconds }
        simulation.instance.addUser(Self.username, password: "correct horse", name: "John Doe")
        simulation.instance.addUser("abel.tuter", password: "x", name: "Abel Tuter")
        let readsJournal = !random.oneIn(3)
        self.readsJournal = readsJournal
        simulation.instance.changeUser(Self.username) { $0.journal = readsJournal ? .allowed : .forbidden }
        simulation.instance.settings.hashesAttachments = random.oneIn(2)
        task = simulation.instance.addTask(title: "Printer", assignedTo: Self.username)
        store = try Stores.inMemory()
        exchange = UnreliableExchange(InProcessExchange(simulation), clock: clock, seed: seed &+ 1)
        connection = try Self.connect(practice, clock, MortalNotebook(store: store, exchange: exchange))
    }

    /// The connection of a new process.
    private static func connect(
        _ practice: Practice, _ clock: TestClock, _ notebook: MortalNotebook
    ) throws -> ServiceNowConnection {
        var environment = practice.environment()
        environment.clock = clock
        environment.notebook = notebook
        return try ServiceNowConnection(
            name: "snow", settings: practice.settings("http://127.0.0.1:9"), in: environment, over: notebook.exchange)
    }

    mutating func run() async throws {
        for number in 0..<Int.random(in: 5...10, using: &random) {
            let next = randomDelivery(number)
            try await store.route(Routing(deliveries: [next]))
            if random.oneIn(3) { disturb() }
            if random.oneIn(2) { try await work() }
        }
        var turns = 0
        while try await !store.deliveries(DeliveryQuery(states: [.available, .running])).isEmpty, turns < 300 {
            turns += 1
            if turns == 100 { exchange.calm() }
            if random.oneIn(8) { disturb() }
            try await work()
        }
        exchange.calm()
        await exchange.advance(to: clock.now + .seconds(300))
        try await compare()
        try await connection.shutdown()
    }

    private static func comment(_ text: String, in journal: String) -> JSON.Object {
        ["text": .string(text), "visibility": journal == "comments" ? "customer" : "internal"]
    }

    private mutating func randomDelivery(_ number: Int) -> Delivery {
        let kind = Self.actions.randomElement(using: &random) ?? "update"
        let (action, arguments): (String, JSON.Object) =
            switch kind {
            case "update": ("update", ["fields": ["short_description": .string("Printer \(number)")]])
            case "attach": ("attach", ["name": .string("log \(number).txt"), "text": "x"])
            case "create": ("create", ["table": "problem", "fields": ["short_description": .string("Problem \(number)")]])
            default: ("comment", Self.comment(Self.texts.randomElement(using: &random) ?? "", in: kind))
            }
        var delivery = Delivery.write(action, arguments, on: task.id, occasion: "event/\(number)")
        delivery.id.rule = kind
        delivery.lane = kind
        delivery.effect = action == "create" ? .makes : .writes
        (delivery.createdAt, delivery.runAt) = (clock.now, clock.now)
        delivery.retry = RetryPolicy(attempts: 60, base: .seconds(5), cap: .seconds(60))
        return delivery
    }

    /// Something that another user does: it writes one of our texts, or changes another field.
    private mutating func disturb() {
        if random.oneIn(2) {
            let kind: JournalEntry.Kind = random.oneIn(2) ? .comments : .workNotes
            instance.addNote(Self.texts[0], kind, on: task.id, by: "abel.tuter")
        } else {
            instance.updateTask(task.id, set: ["urgency": random.oneIn(2) ? "1" : "2"], by: "abel.tuter")
        }
    }

    // MARK: The agent

    /// Claims what is due next, and attempts it until the process dies.
    private mutating func work() async throws {
        let next = try await store.nextDue(excluding: []) ?? clock.now
        await exchange.advance(to: max(next, clock.now + .milliseconds(Int.random(in: 0...3000, using: &random))))
        let claims = try await store.claim(limit: 3, excluding: [], until: clock.now + .seconds(300), at: clock.now)
        for claim in claims where !exchange.isDead {
            let outcome = await perform(claim)
            if exchange.mayDie() { break }
            try await finish(claim, outcome)
        }
        if exchange.isDead { try await restart() }
    }

    private func perform(_ claim: Claim) async -> Outcome {
        let times = WriteTimes(lookupWaits: [])
        let action: any Action =
            switch claim.delivery.action {
            case "update": UpdateAction(connection: connection, times: times)
            case "create": CreateAction(connection: connection, times: times)
            case "attach": AttachAction(connection: connection, times: times)
            default: CommentAction(connection: connection, times: times)
            }
        do throws(Failure) {
            return .delivered(try await action.perform(claim.delivery, attempt: claim.attempt))
        } catch {
            return .failed(error)
        }
    }

    private func finish(_ claim: Claim, _ outcome: Outcome) async throws {
        let next = claim.delivery.retry.next(after: outcome, attempt: claim.attempt.number, now: clock.now, jitter: 0.5)
        var isUncertain = false
        if case .failed(let failure) = outcome { isUncertain = failure.remedy == .unknownOutcome || failure.remedy == .hold }
        _ = try await store.finish([Finish(claim, at: clock.now, next: next, uncertain: isUncertain)])
    }

    private mutating func restart() async throws {
        try await connection.shutdown()
        await exchange.advance(to: clock.now + .seconds(random.oneIn(4) ? 200 : Int.random(in: 1...20, using: &random)))
        exchange.revive()
        try await store.start(.only, at: clock.now)
        connection = try Self.connect(practice, clock, MortalNotebook(store: store, exchange: exchange))
    }

    // MARK: The end

    private mutating func compare() async throws {
        let records = try await store.deliveries(DeliveryQuery(after: 0, limit: 100))
        for record in records {
            let isAllowed = record.state == .done || record.state == .held && !readsJournal && record.delivery.action == "comment"
            check(isAllowed, "\(Self.name(record)) is \(record.state): \(record.failure?.message ?? "")")
        }
        for kind in [JournalEntry.Kind.workNotes, .comments] {
            compareComments(kind, records.filter { $0.delivery.id.rule == kind.rawValue })
        }
        for record in records {
            let written: Int
            switch record.delivery.action {
            case "attach":
                let name = "log \(record.delivery.id.occasion.text.split(separator: "/").last ?? "").txt"
                written = instance.attachments(of: task.id).count { $0.name == name }
            case "create": written = instance.tasks.count { $0["correlation_id"] == "bellhop-\(record.delivery.id.text)" }
            default: continue
            }
            check(written == 1, "\(Self.name(record)) was written \(written) times")
        }
        guard case .values(let arguments)? = records.last(where: { $0.delivery.action == "update" })?.delivery.arguments else {
            return
        }
        let value = instance.task(task.id)?.title
        check(value == arguments["fields"]?["short_description"]?.asString, "the last update was undone: \(value ?? "")")
    }

    /// Compares one journal with the deliveries of its lane, in their order.
    private mutating func compareComments(_ kind: JournalEntry.Kind, _ records: [DeliveryRecord]) {
        let entries = instance.journal(of: task.id, kind).filter { $0.author == Self.username }
        for text in Self.texts {
            let states = records.filter { $0.delivery.arguments == .values(Self.comment(text, in: kind.rawValue)) }.map(\.state)
            let (done, held) = (states.count { $0 == .done }, states.count { $0 == .held })
            let written = entries.count { $0.text == text }
            check(
                done...(done + held) ~= written, "'\(text)' is \(written) times in \(kind), with \(done) done and \(held) held")
        }
        // A history's entries have no ids.
        let ids = entries.map(\.id)
        let places = records.compactMap { record in record.receipt?.reference.flatMap { ids.firstIndex(of: $0) } }
        check(!readsJournal || places.count == records.count, "not all \(kind) are proved by entries")
        check(places == Set(places).sorted(), "the \(kind) are not in the order of their deliveries: \(places)")
    }

    private static func name(_ record: DeliveryRecord) -> String {
        "\(record.delivery.id.rule) of \(record.delivery.id.occasion.text)"
    }

    private mutating func check(_ holds: Bool, _ problem: @autoclosure () -> String) {
        if !holds { problems.append(problem()) }
    }
}
