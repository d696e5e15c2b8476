import BellhopCore
import Synchronization

/// A store that fails when a test asks for it, before or after its work. A process that dies at that point leaves the same state.
///
/// A class with a mutex, because the test and the tested loops share the script.
final class FaultyStore: Store {
    enum Call: String, Sendable, CaseIterable {
        case open, remembered, tasks, writes, comments, commit, setHealth, append, unrouted, state, route, register, formerRules,
            nextTimer, dueTimers, timers
        case claim, finish, stops, silences, addSilence, endSilence, beginAndEndSilences, nextRelease, released,
            release, pauses, pause, resume, start, rescue, wake, correctFutureTimes, nextDue, apply, status, events, deliveries,
            decisions, prune, note
    }

    enum Moment: Sendable {
        case before, after
        static let all = [Moment.before, .after]
    }

    typealias Script = @Sendable (Call) -> Moment?

    private let base: any Store
    private let script = Mutex<(kind: StoreError.Kind, fails: Script)>((kind: .full, fails: { _ in nil }))
    private let earlierRoutings = Mutex<[Routing]>([])
    private let interruption = Mutex<(call: Call, moment: Moment, work: @Sendable () async -> Void)?>(nil)
    private let traffic = Mutex(Traffic())

    /// The numbers of begun and of unfinished calls.
    struct Traffic: Hashable {
        var begun = 0
        var open = 0
    }

    var calls: Traffic { traffic.withLock { $0 } }

    init(_ base: any Store) { self.base = base }

    var executor: (any TaskExecutor)? { base.executor }

    /// Lets the script decide from now on which calls fail.
    func fail(as kind: StoreError.Kind = .full, _ script: @escaping Script) {
        self.script.withLock { $0 = (kind: kind, fails: script) }
    }

    /// Makes this call fail once.
    func failOnce(_ call: Call, _ moment: Moment = .before) {
        let isLeft = Once()
        fail { $0 == call && isLeft.take() ? moment : nil }
    }

    /// Stores the next of these just before each routing, like a change made while that routing was decided.
    func storeBeforeNextRouting(_ routings: [Routing]) { earlierRoutings.withLock { $0 = routings.reversed() } }

    /// Does this work once, just before or after the next such call, as a faster loop would.
    func interrupt(_ call: Call, _ moment: Moment = .before, _ work: @escaping @Sendable () async -> Void) {
        interruption.withLock { $0 = (call, moment, work) }
    }

    private func interrupting(_ call: Call, _ moment: Moment) -> (@Sendable () async -> Void)? {
        interruption.withLock { interruption in
            guard let found = interruption, found.call == call, found.moment == moment else { return nil }
            interruption = nil
            return found.work
        }
    }

    func stopFailing() { fail { _ in nil } }

    private func through<Value>(_ call: Call, _ work: () async throws(StoreError) -> Value) async throws(StoreError) -> Value {
        begin()
        defer { traffic.withLock { $0.open -= 1 } }
        await interrupting(call, .before)?()
        let (kind, fails) = script.withLock { $0 }
        let moment = fails(call)
        if moment == .before { throw StoreError(kind, "A test lets \(call.rawValue) fail.") }
        let value = try await work()
        await interrupting(call, .after)?()
        if moment == .after { throw StoreError(kind, "A test lets the answer of \(call.rawValue) be lost.") }
        return value
    }

    func open(_ scope: Scope, source: String, at now: Timestamp) async throws(StoreError) -> SourceMemory {
        try await through(.open) { () throws(StoreError) in try await base.open(scope, source: source, at: now) }
    }
    func remembered(_ keys: [TaskKey], in scope: Scope.ID) async throws(StoreError) -> [TaskKey: RememberedTask] {
        try await through(.remembered) { () throws(StoreError) in try await base.remembered(keys, in: scope) }
    }
    func tasks(in scopes: [Scope.ID], isForPeople: Bool) async throws(StoreError) -> [Scope.ID: [Snapshot]] {
        try await through(.tasks) { () throws(StoreError) in try await base.tasks(in: scopes, isForPeople: isForPeople) }
    }
    func tasks(_ query: TaskQuery) async throws(StoreError) -> TaskPage {
        try await through(.tasks) { () throws(StoreError) in try await base.tasks(query) }
    }
    func writes(to subjects: [String], since: Timestamp) async throws(StoreError) -> [String: [OwnWrite]] {
        try await through(.writes) { () throws(StoreError) in try await base.writes(to: subjects, since: since) }
    }
    func comments(on subjects: [String], since: Timestamp) async throws(StoreError) -> [String: [WrittenComment]] {
        try await through(.comments) { () throws(StoreError) in try await base.comments(on: subjects, since: since) }
    }
    func commit(_ poll: PollCommit, stored: @escaping @Sendable () -> Void) async throws(StoreError) -> PollResult {
        try await through(.commit) { () throws(StoreError) in try await base.commit(poll, stored: stored) }
    }
    func setHealth(_ health: SourceHealth, of scope: Scope.ID, events: [Event], rest: ReceiverStop?) async throws(StoreError) {
        try await through(.setHealth) { () throws(StoreError) in
            try await base.setHealth(health, of: scope, events: events, rest: rest)
        }
    }
    @discardableResult
    func append(_ events: [Event]) async throws(StoreError) -> Int {
        try await through(.append) { () throws(StoreError) in try await base.append(events) }
    }
    func unrouted(after place: Int64, limit: Int) async throws(StoreError) -> [StoredEvent] {
        try await through(.unrouted) { () throws(StoreError) in try await base.unrouted(after: place, limit: limit) }
    }
    func unroutedSchedules(after place: Int64, limit: Int) async throws(StoreError) -> [StoredEvent] {
        try await through(.unrouted) { () throws(StoreError) in try await base.unroutedSchedules(after: place, limit: limit) }
    }
    func events(at places: [Int64]) async throws(StoreError) -> [StoredEvent] {
        try await through(.events) { () throws(StoreError) in try await base.events(at: places) }
    }
    func state(for keys: [StateKey]) async throws(StoreError) -> RuleState {
        try await through(.state) { () throws(StoreError) in try await base.state(for: keys) }
    }
    func waits(for keys: [String: [String]]) async throws(StoreError) -> RuleState {
        try await through(.state) { () throws(StoreError) in try await base.waits(for: keys) }
    }
    @discardableResult
    func route(_ routing: Routing, stored: @escaping @Sendable () -> Void) async throws(StoreError) -> RouteResult {
        try await through(.route) { () throws(StoreError) in
            if let first = earlierRoutings.withLock({ $0.popLast() }) { try await base.route(first) }
            return try await base.route(routing, stored: stored)
        }
    }
    func register(_ rules: [RuleRegistration], at now: Timestamp) async throws(StoreError) -> RegisteredRules {
        try await through(.register) { () throws(StoreError) in try await base.register(rules, at: now) }
    }
    func formerRules() async throws(StoreError) -> [String: [String: JSON]] {
        try await through(.formerRules) { () throws(StoreError) in try await base.formerRules() }
    }
    func nextTimer(after time: Timestamp, besides waiting: WaitingTimers) async throws(StoreError) -> Timestamp? {
        try await through(.nextTimer) { () throws(StoreError) in try await base.nextTimer(after: time, besides: waiting) }
    }
    func dueTimers(at now: Timestamp, limit: Int, besides waiting: WaitingTimers) async throws(StoreError) -> [RuleTimer] {
        try await through(.dueTimers) { () throws(StoreError) in
            try await base.dueTimers(at: now, limit: limit, besides: waiting)
        }
    }
    func timers(_ ids: [RuleTimer.ID]) async throws(StoreError) -> [RuleTimer] {
        try await through(.timers) { () throws(StoreError) in try await base.timers(ids) }
    }
    func claim(_ request: ClaimRequest) async throws(StoreError) -> Claimed {
        try await through(.claim) { () throws(StoreError) in try await base.claim(request) }
    }
    func finish(
        _ finishes: [Finish], claiming request: ClaimRequest
    ) async throws(StoreError) -> (kept: [Bool], claimed: Claimed) {
        try await through(.claim) { () throws(StoreError) in
            try await through(.finish) { () throws(StoreError) in try await base.finish(finishes, claiming: request) }
        }
    }

    func stops() async throws(StoreError) -> [ReceiverStop] {
        try await through(.stops) { () throws(StoreError) in try await base.stops() }
    }

    func pause(_ pause: ReceiverPause) async throws(StoreError) -> Bool {
        try await through(.pause) { () throws(StoreError) in try await base.pause(pause) }
    }

    func resume(receiver: String, at now: Timestamp) async throws(StoreError) -> Bool {
        try await through(.resume) { () throws(StoreError) in try await base.resume(receiver: receiver, at: now) }
    }
    func digest(_ query: DigestQuery) async throws(StoreError) -> Digest {
        try await through(.events) { () throws(StoreError) in try await base.digest(query) }
    }
    func tasks(named name: String) async throws(StoreError) -> [NamedTask] {
        try await through(.tasks) { () throws(StoreError) in try await base.tasks(named: name) }
    }
    func forget(_ task: NamedTask, at now: Timestamp) async throws(StoreError) -> [Forgotten] {
        try await through(.route) { () throws(StoreError) in try await base.forget(task, at: now) }
    }
    func silences(includingEnded: Bool) async throws(StoreError) -> [SilenceRecord] {
        try await through(.silences) { () throws(StoreError) in try await base.silences(includingEnded: includingEnded) }
    }
    @discardableResult
    func add(_ silence: Silence, at now: Timestamp) async throws(StoreError) -> Bool {
        try await through(.addSilence) { () throws(StoreError) in try await base.add(silence, at: now) }
    }
    func endSilence(_ id: String, at now: Timestamp) async throws(StoreError) -> SilenceRecord? {
        try await through(.endSilence) { () throws(StoreError) in try await base.endSilence(id, at: now) }
    }
    func beginAndEndSilences(_ entries: [SilenceEntry], at now: Timestamp) async throws(StoreError) -> [Event] {
        try await through(.beginAndEndSilences) { () throws(StoreError) in try await base.beginAndEndSilences(entries, at: now) }
    }
    func nextRelease() async throws(StoreError) -> Timestamp? {
        try await through(.nextRelease) { () throws(StoreError) in try await base.nextRelease() }
    }
    func released(at now: Timestamp) async throws(StoreError) -> [HeldMessage] {
        try await through(.released) { () throws(StoreError) in try await base.released(at: now) }
    }
    func release(_ release: MessageRelease) async throws(StoreError) -> Bool {
        try await through(.release) { () throws(StoreError) in try await base.release(release) }
    }
    func pauses() async throws(StoreError) -> [Pause] {
        try await through(.pauses) { () throws(StoreError) in try await base.pauses() }
    }
    @discardableResult
    func pause(_ pause: Pause) async throws(StoreError) -> Bool {
        try await through(.pause) { () throws(StoreError) in try await base.pause(pause) }
    }
    @discardableResult
    func resume(_ subject: Pause.Subject, at now: Timestamp) async throws(StoreError) -> Bool {
        try await through(.resume) { () throws(StoreError) in try await base.resume(subject, at: now) }
    }
    func finish(_ finishes: [Finish]) async throws(StoreError) -> [Bool] {
        try await through(.finish) { () throws(StoreError) in try await base.finish(finishes) }
    }
    @discardableResult
    func start(_ node: NodeID, at now: Timestamp) async throws(StoreError) -> Int {
        try await through(.start) { () throws(StoreError) in try await base.start(node, at: now) }
    }
    @discardableResult
    func rescue(at now: Timestamp) async throws(StoreError) -> Int {
        try await through(.rescue) { () throws(StoreError) in try await base.rescue(at: now) }
    }
    func wake(receiver: String, at now: Timestamp) async throws(StoreError) {
        try await through(.wake) { () throws(StoreError) in try await base.wake(receiver: receiver, at: now) }
    }
    func correctFutureTimes(at now: Timestamp) async throws(StoreError) {
        try await through(.correctFutureTimes) { () throws(StoreError) in try await base.correctFutureTimes(at: now) }
    }
    func nextDue(excluding receivers: Set<String>) async throws(StoreError) -> Timestamp? {
        try await through(.nextDue) { () throws(StoreError) in try await base.nextDue(excluding: receivers) }
    }
    @discardableResult
    func apply(_ command: DeliveryCommand, to deliveries: [Delivery.ID], at now: Timestamp) async throws(StoreError) -> Int {
        try await through(.apply) { () throws(StoreError) in try await base.apply(command, to: deliveries, at: now) }
    }
    func edit(_ edit: DeliveryEdit) async throws(StoreError) -> Bool {
        try await through(.apply) { () throws(StoreError) in try await base.edit(edit) }
    }
    func status(at now: Timestamp) async throws(StoreError) -> StoreStatus {
        try await through(.status) { () throws(StoreError) in try await base.status(at: now) }
    }
    func events(_ query: EventQuery) async throws(StoreError) -> EventPage {
        try await through(.events) { () throws(StoreError) in try await base.events(query) }
    }
    func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> [DeliveryRecord] {
        try await through(.deliveries) { () throws(StoreError) in try await base.deliveries(query) }
    }
    func decisions(_ query: DecisionQuery) async throws(StoreError) -> [DecisionRecord] {
        try await through(.decisions) { () throws(StoreError) in try await base.decisions(query) }
    }
    @discardableResult
    func replay(
        _ events: [StoredEvent], rule: String?, isForced: Bool, at now: Timestamp
    ) async throws(StoreError) -> Int { try await base.replay(events, rule: rule, isForced: isForced, at: now) }
    func replays(limit: Int) async throws(StoreError) -> [Replay] { try await base.replays(limit: limit) }
    func history(_ query: HistoryQuery) async throws(StoreError) -> StoredHistory { try await base.history(query) }
    func audit(_ query: AuditQuery) async throws(StoreError) -> [AuditRow] { try await base.audit(query) }
    func setNote(
        _ key: String, to value: JSON?, by act: AuditAct, _ facts: JSON.Object, at now: Timestamp
    ) async throws(StoreError) {
        try await base.setNote(key, to: value, by: act, facts, at: now)
    }
    func activity(since: Timestamp) async throws(StoreError) -> Activity { try await base.activity(since: since) }
    func span(of query: EventQuery) async throws(StoreError) -> RowSpan? {
        try await through(.events) { () throws(StoreError) in try await base.span(of: query) }
    }
    func span(of query: DeliveryQuery) async throws(StoreError) -> RowSpan? {
        try await through(.deliveries) { () throws(StoreError) in try await base.span(of: query) }
    }
    func endReadsForPeople() { base.endReadsForPeople() }
    func keepScopes(_ scopes: [Scope.ID]) { base.keepScopes(scopes) }
    func prune(_ retention: Retention, at now: Timestamp) async throws(StoreError) -> Int {
        try await through(.prune) { () throws(StoreError) in try await base.prune(retention, at: now) }
    }
    func giveBackMemory() async { await base.giveBackMemory() }
    func close() async throws(StoreError) { try await base.close() }
    func note(_ key: String) async throws -> JSON? { try await counted { try await base.note(key) } }
    func setNote(_ key: String, to value: JSON?) async throws { try await counted { try await base.setNote(key, to: value) } }

    /// Notes never fail here, but they count as traffic: the engine is not settled while one is read or written.
    private func counted<Value>(_ work: () async throws -> Value) async throws -> Value {
        begin()
        defer { traffic.withLock { $0.open -= 1 } }
        return try await work()
    }

    /// Counts a call that begins.
    private func begin() {
        traffic.withLock { traffic in
            traffic.begun += 1
            traffic.open += 1
        }
    }
}

/// Returns true once. A class with an atomic flag, because several tasks share it.
final class Once: Sendable {
    private let taken = Atomic(false)
    func take() -> Bool { !taken.exchange(true, ordering: .relaxed) }
}
