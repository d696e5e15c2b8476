import BellhopCore
import Synchronization

/// A system of record scripted by a test: its tasks appear, change and leave, and its answers fail, when the test says so.
///
/// The listing has a task's number and title; its fields are only in the details. A class with a mutex, because the test and the
/// poller share it.
final class ScriptedSource: Source {
    struct State: Sendable {
        var tasks: [Snapshot] = []
        /// The reason for which an unlisted task left; `reason` applies to tasks without one here.
        var departures: [TaskKey: RemovalReason] = [:]
        var reason = RemovalReason.gone
        /// False if unlisted tasks cannot be read.
        var hasRecords = true
        /// Replies to the next lists in place of the tasks, in order.
        var lists: [Reply] = []
        /// Failures of the next requests for details, in order.
        var details: [Failure?] = []
        /// Tasks missing from the details.
        var unreadable: Set<TaskKey> = []
        /// True while the details contain only the listing's values, as if the account may not read the rest.
        var isForbidden = false
        var notice: String?
        /// The connection shared with deliveries.
        var receiver: String?
        var cursor: Cursor?
        /// The account's name in the lists.
        var user: String?
        /// The user whose tasks these are; nil before a login has told it.
        var owner: String? = "ada"
        var comments: [TaskComment] = []
        var schema = TaskSchema(
            [.init("priority", .int), .init("state", .int), .init("assigned_to", .text)],
            roles: .init(
                bookkeeping: ["sys_updated_on", "sys_updated_by", "sys_mod_count"], created: "created",
                updatedBy: "sys_updated_by", updates: "sys_mod_count"))
        /// The schema after preparing; nil if preparing does not change it.
        var discoveredSchema: TaskSchema?
    }

    enum Reply: Sendable {
        case failure(Failure)
        case empty
        case currentTasks
    }

    /// The requests made to the source.
    struct Log: Sendable {
        var lists: [Timestamp] = []
        var details: [[TaskKey]] = []
        var cursors: [Cursor?] = []
        var pollsAtOnce = 0
        var maxPollsAtOnce = 0
    }

    let name: String
    let scope: Scope
    var schema: TaskSchema { state.withLock { $0.schema } }
    var user: String? { state.withLock { $0.owner } }
    var receiver: String { state.withLock { $0.receiver } ?? "source/\(name)" }
    private let state: Mutex<State>
    private let log = Mutex(Log())
    private let clock: any AgentClock
    /// The time that a list takes.
    private let delay: Duration
    /// The time that preparing takes.
    private let preparation: Duration
    let maxDepartures: Int

    init(
        _ name: String = "my-work", tasks: [Snapshot] = [], instance: String = "https://acme.example", clock: any AgentClock,
        delay: Duration = .zero, preparation: Duration = .zero, maxDepartures: Int = .max
    ) {
        state = Mutex(State(tasks: tasks))
        self.maxDepartures = maxDepartures
        self.name = name
        scope = Scope(instance: instance, user: "ada", kind: "scripted", query: "")
        self.clock = clock
        self.delay = delay
        self.preparation = preparation
    }

    func prepare(offline: Bool) async {
        if offline { return }
        if preparation > .zero { try? await clock.sleep(for: preparation) }
        edit { state in if let schema = state.discoveredSchema { state.schema = schema } }
    }

    var requests: Log { log.withLock { $0 } }

    func edit(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    /// Lets the configuration read the field `priority` from another path.
    func redefinePriority(_ path: String) { edit { $0.schema.fields[0].path = path } }

    func set(_ tasks: [Snapshot]) { edit { $0.tasks = tasks } }

    /// Adds a task, or replaces the one with the same key.
    func put(_ task: Snapshot) {
        edit { state in
            if let place = state.tasks.firstIndex(where: { $0.key == task.key }) {
                state.tasks[place] = task
            } else {
                state.tasks.append(task)
            }
        }
    }

    func remove(_ key: TaskKey, because reason: RemovalReason = .gone) {
        edit { state in
            state.tasks.removeAll { $0.key == key }
            state.departures[key] = reason
        }
    }

    func list(from lastPoll: LastPoll) async throws(Failure) -> Answer {
        log.withLock { log in
            log.lists.append(clock.now)
            log.cursors.append(lastPoll.cursor)
            log.pollsAtOnce += 1
            log.maxPollsAtOnce = max(log.maxPollsAtOnce, log.pollsAtOnce)
        }
        defer { log.withLock { $0.pollsAtOnce -= 1 } }
        if delay > .zero {
            do { try await clock.sleep(for: delay) } catch { throw Failure(.cut, .retry(after: nil), "cancelled") }
        }
        let (reply, state) = state.withLock { state in
            (state.lists.isEmpty ? .currentTasks : state.lists.removeFirst(), state)
        }
        if case .failure(let failure) = reply { throw failure }
        var records: [(key: TaskKey, record: JSON)] = []
        if case .currentTasks = reply {
            records = state.tasks.map { ($0.key, ["number": .string($0.number), "title": .string($0.title)]) }
        }
        do {
            let listing = try Listing(records: records)
            var answer = Answer(
                listing: listing, fingerprint: Fingerprint(content: listing.body), cursor: state.cursor, comments: state.comments)
            answer.user = state.user
            return answer
        } catch { throw Failure(.badAnswer, .retry(after: nil), "\(error)") }
    }

    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        log.withLock { $0.details.append(keys) }
        let (failure, state) = state.withLock { state in (state.details.isEmpty ? nil : state.details.removeFirst(), state) }
        if let failure { throw failure }
        let listed = Set(listing.entries.map(\.key))
        var details = Details(notice: state.notice)
        for key in keys where !state.unreadable.contains(key) {
            if let task = state.tasks.first(where: { $0.key == key }), listed.contains(key) {
                details.snapshots[key] =
                    state.isForbidden
                    ? Snapshot(key: key, number: task.number, title: task.title, type: task.type, url: task.url) : task
            } else if state.hasRecords, state.tasks.contains(where: { $0.key == key }) {
                details.remaining.insert(key)
            } else {
                details.departures[key] = state.hasRecords ? state.departures[key] ?? state.reason : .unknown
            }
        }
        return details
    }
}
