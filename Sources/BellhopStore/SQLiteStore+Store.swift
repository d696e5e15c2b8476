import BellhopCore
import Synchronization

extension SQLiteStore: Store {
    // Sources.

    func open(_ scope: Scope, source: String, at now: Timestamp) async throws(StoreError) -> SourceMemory {
        keepScopes([scope.id])
        return try await write { try $0.open(scope, source: source, at: now) }
    }

    func remembered(_ keys: [TaskKey], in scope: Scope.ID) async throws(StoreError) -> [TaskKey: RememberedTask] {
        try await read(.here) { try $0.remembered(keys, in: scope) }
    }

    func tasks(in scopes: [Scope.ID], isForPeople: Bool) async throws(StoreError) -> [Scope.ID: [Snapshot]] {
        try await read(isForPeople ? .forPeople : .short) { [self] session in
            try session.tasks(in: scopes) { scope, turn in
                cache.withLock { $0.tasks(of: scope, at: turn) }
            } keep: { tasks, scope, turn in
                cache.withLock { $0.keep(tasks, of: scope, at: turn) }
            }
        }
    }

    func tasks(_ query: TaskQuery) async throws(StoreError) -> TaskPage {
        try await read(.forPeople) { try $0.tasks(query) }
    }

    func writes(to subjects: [String], since: Timestamp) async throws(StoreError) -> [String: [OwnWrite]] {
        guard !subjects.isEmpty else { return [:] }
        return try await read(.here) { try $0.writes(to: subjects, since: since) }
    }

    func comments(on subjects: [String], since: Timestamp) async throws(StoreError) -> [String: [WrittenComment]] {
        guard !subjects.isEmpty else { return [:] }
        return try await read(.here) { try $0.comments(on: subjects, since: since) }
    }

    func commit(_ poll: PollCommit, stored: @escaping @Sendable () -> Void) async throws(StoreError) -> PollResult {
        try await write { [self] result in
            guard case .committed(let turn, let events) = result else { return }
            cache.withLock { $0.note(poll, turn: turn) }
            if events > 0 { stored() }
        } _: {
            try $0.commit(poll)
        }
    }

    func setHealth(
        _ health: SourceHealth, of scope: Scope.ID, events: [Event], rest: ReceiverStop?
    ) async throws(StoreError) {
        try await write { try $0.setHealth(health, of: scope, events: events, rest: rest) }
    }

    // The bus.

    @discardableResult
    func append(_ events: [Event]) async throws(StoreError) -> Int {
        guard !events.isEmpty else { return 0 }
        return try await write { try $0.append(events) }
    }

    /// Limits the bytes too: there may be more events even if it returns fewer than `limit`. An unreadable event is skipped, and
    /// counted in the status.
    func unrouted(after place: Int64, limit: Int) async throws(StoreError) -> [StoredEvent] {
        while true {
            let (events, damaged) = try await read(.here) { try $0.unrouted(after: place, limit: limit) }
            if damaged.isEmpty { return events }
            try await write { try $0.skipUnreadable(damaged) }
            if !events.isEmpty { return events }
        }
    }

    func unroutedSchedules(after place: Int64, limit: Int) async throws(StoreError) -> [StoredEvent] {
        try await read(.here) { try $0.unroutedSchedules(after: place, limit: limit) }
    }

    @discardableResult
    func replay(
        _ events: [StoredEvent], rule: String?, isForced: Bool, at now: Timestamp
    ) async throws(StoreError) -> Int {
        guard !events.isEmpty else { return 0 }
        return try await write { [person = Person.current] in
            try $0.replay(events, rule: rule, isForced: isForced, by: person, at: now)
        }
    }

    func replays(limit: Int) async throws(StoreError) -> [Replay] {
        try await read(.here) { try $0.replays(limit: limit) }
    }

    func state(for keys: [StateKey]) async throws(StoreError) -> RuleState {
        guard !keys.isEmpty else { return [:] }
        return try await read(.here) { try $0.state(for: keys) }
    }

    func waits(for keys: [String: [String]]) async throws(StoreError) -> RuleState {
        try await read(.here) { try $0.waits(for: keys) }
    }

    func route(_ routing: Routing, stored: @escaping @Sendable () -> Void) async throws(StoreError) -> RouteResult {
        let result = try await attempt(stored: { _ in stored() }) { try $0.route(routing) }
        if case .failure(let conflict as RouteConflict) = result { return .conflict(conflict) }
        return try get(result)
    }

    // Rules.

    /// A rule sees the events after the sequence returned here: the last one when the rule was first loaded, 0 if there was none.
    /// A stored rule that is not among `rules` loses its timers and counts. It keeps its keys of `throttle` until they expire, and those
    /// of `once` as long as a removed task is remembered.
    func register(_ rules: [RuleRegistration], at now: Timestamp) async throws(StoreError) -> RegisteredRules {
        try await write { [person = Person.current] in try $0.register(rules, by: person, at: now) }
    }

    func formerRules() async throws(StoreError) -> [String: [String: JSON]] { try await read { try $0.formerRules() } }

    func nextTimer(after time: Timestamp, besides waiting: WaitingTimers) async throws(StoreError) -> Timestamp? {
        try await read(.here) { try $0.nextTimer(after: time, besides: waiting) }
    }

    func dueTimers(at now: Timestamp, limit: Int, besides waiting: WaitingTimers) async throws(StoreError) -> [RuleTimer] {
        try await read(.here) { try $0.dueTimers(at: now, limit: limit, besides: waiting) }
    }

    func timers(_ ids: [RuleTimer.ID]) async throws(StoreError) -> [RuleTimer] {
        guard !ids.isEmpty else { return [] }
        return try await read(.here) { try $0.timers(ids) }
    }

    func tasks(named name: String) async throws(StoreError) -> [NamedTask] {
        try await read(.forPeople) { try $0.tasks(named: name) }
    }

    func forget(_ task: NamedTask, at now: Timestamp) async throws(StoreError) -> [Forgotten] {
        try await write { [person = Person.current] in try $0.forget(task, by: person, at: now) }
    }

    // Deliveries.

    /// Takes at most one delivery per lane, and only after all earlier ones of its lane are done, dead, dropped or held. A held
    /// delivery waits for a person, perhaps for days, and so blocks no others; if it is retried, it comes late. A delivery whose
    /// content this program cannot read becomes dead.
    func claim(_ request: ClaimRequest) async throws(StoreError) -> Claimed {
        try await write { try $0.claim(request) }
    }

    func stops() async throws(StoreError) -> [ReceiverStop] { try await read(.here) { try $0.stops() } }

    func pause(_ pause: ReceiverPause) async throws(StoreError) -> Bool {
        try await write { [person = Person.current] in try $0.pause(pause, by: person) }
    }

    func resume(receiver: String, at now: Timestamp) async throws(StoreError) -> Bool {
        try await write { [person = Person.current] in try $0.resume(receiver, by: person, at: now) }
    }

    func pauses() async throws(StoreError) -> [Pause] { try await read { try $0.pauses() } }

    func pause(_ pause: Pause) async throws(StoreError) -> Bool {
        try await write { [person = Person.current] in try $0.pause(pause, by: person) }
    }

    func resume(_ subject: Pause.Subject, at now: Timestamp) async throws(StoreError) -> Bool {
        try await write { [person = Person.current] in try $0.resume(subject, by: person, at: now) }
    }

    // Quiet times.

    func nextRelease() async throws(StoreError) -> Timestamp? { try await read(.here) { try $0.nextRelease() } }

    func released(at now: Timestamp) async throws(StoreError) -> [HeldMessage] {
        try await read { try $0.released(at: now) }
    }

    func release(_ release: MessageRelease) async throws(StoreError) -> Bool {
        let result = try await attempt { try $0.release(release) }
        if case .failure(let error) = result, error is ReleaseConflict || error is RouteConflict { return false }
        try get(result)
        return true
    }

    // Silences.

    func silences(includingEnded: Bool) async throws(StoreError) -> [SilenceRecord] {
        try await read { try $0.silences(includingEnded: includingEnded) }
    }

    func add(_ silence: Silence, at now: Timestamp) async throws(StoreError) -> Bool {
        try await write { [person = Person.current] in try $0.add(silence, by: person, at: now) }
    }

    func endSilence(_ id: String, at now: Timestamp) async throws(StoreError) -> SilenceRecord? {
        try await write { [person = Person.current] in try $0.endSilence(id, by: person, at: now) }
    }

    func beginAndEndSilences(_ entries: [SilenceEntry], at now: Timestamp) async throws(StoreError) -> [Event] {
        try await write { try $0.beginAndEndSilences(entries, at: now) }
    }

    func finish(_ finishes: [Finish]) async throws(StoreError) -> [Bool] {
        guard !finishes.isEmpty else { return [] }
        return try await write { try $0.finish(finishes) }
    }

    func finish(
        _ finishes: [Finish], claiming request: ClaimRequest
    ) async throws(StoreError) -> (kept: [Bool], claimed: Claimed) {
        try await write { (try $0.finish(finishes), try $0.claim(request)) }
    }

    func start(_ node: NodeID, at now: Timestamp) async throws(StoreError) -> Int {
        try await write { try $0.start(node, at: now) }
    }

    func rescue(at now: Timestamp) async throws(StoreError) -> Int { try await write { try $0.rescue(at: now) } }

    func wake(receiver: String, at now: Timestamp) async throws(StoreError) {
        try await write { try $0.wake(receiver: receiver, at: now) }
    }

    func correctFutureTimes(at now: Timestamp) async throws(StoreError) {
        try await write { try $0.correctFutureTimes(at: now) }
    }

    func nextDue(excluding receivers: Set<String>) async throws(StoreError) -> Timestamp? {
        try await read(.here) { try $0.nextDue(excluding: receivers) }
    }

    /// A retry makes dead or held deliveries available again with the full number of attempts, and sends waiting ones at once; it
    /// ignores the expiry. Running ones do not change.
    func apply(
        _ command: DeliveryCommand, to deliveries: [Delivery.ID], at now: Timestamp
    ) async throws(StoreError) -> Int {
        guard !deliveries.isEmpty else { return 0 }
        return try await write { [person = Person.current] in try $0.apply(command, to: deliveries, by: person, at: now) }
    }

    func edit(_ edit: DeliveryEdit) async throws(StoreError) -> Bool {
        try await write { [person = Person.current] in try $0.edit(edit, by: person) }
    }

    // Queries.

    func status(at now: Timestamp) async throws(StoreError) -> StoreStatus {
        try await read(.long) { try $0.status(at: now) }
    }

    func events(at places: [Int64]) async throws(StoreError) -> [StoredEvent] {
        try await read { try $0.events(at: places) }
    }

    func digest(_ query: DigestQuery) async throws(StoreError) -> Digest { try await read { try $0.digest(query) } }

    func events(_ query: EventQuery) async throws(StoreError) -> EventPage {
        try await read(.forPeople) { try $0.events(query) }
    }

    func decisions(_ query: DecisionQuery) async throws(StoreError) -> [DecisionRecord] {
        try await read(.forPeople) { try $0.decisions(query) }
    }

    func history(_ query: HistoryQuery) async throws(StoreError) -> StoredHistory {
        try await read(.forPeople) { try $0.history(query) }
    }

    func audit(_ query: AuditQuery) async throws(StoreError) -> [AuditRow] {
        try await read(.forPeople) { try $0.auditRows(query) }
    }

    func activity(since: Timestamp) async throws(StoreError) -> Activity {
        try await read(.forPeople) { try $0.activity(since: since) }
    }

    func span(of query: EventQuery) async throws(StoreError) -> RowSpan? {
        try await read(.forPeople) { try $0.span(of: query) }
    }

    func span(of query: DeliveryQuery) async throws(StoreError) -> RowSpan? {
        try await read(.forPeople) { try $0.span(of: query) }
    }

    func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> [DeliveryRecord] {
        try await read(.forPeople) { try $0.deliveries(query) }
    }

    func endReadsForPeople() { connections.endReadsForPeople() }

    func keepScopes(_ scopes: [Scope.ID]) { scopesInUse.withLock { $0.formUnion(scopes) } }

    /// Deletes in steps of a thousand rows, each its own independent transaction, so that others do not wait long. Unrouted
    /// events, held deliveries, and scopes that this process uses stay; removed tasks are remembered at least as long as
    /// events and deliveries are kept. In a cancelled task it takes no further step: a stop must not wait for millions of rows.
    func prune(_ retention: Retention, at now: Timestamp) async throws(StoreError) -> Int {
        var count = 0
        var step: Session.PruningStep? = .events(after: 0)
        let scopes = scopesInUse.withLock { $0 }
        while let current = step, !Task.isCancelled {
            let (removed, next) = try await write { try $0.prune(current, retention, keeping: scopes, at: now) }
            count += removed
            step = next
        }
        return count
    }

    // Notes.

    func note(_ key: String) async throws(StoreError) -> JSON? { try await read(.here) { try $0.note(key) } }

    func setNote(
        _ key: String, to value: JSON?, by act: AuditAct, _ facts: JSON.Object, at now: Timestamp
    ) async throws(StoreError) {
        try await write { [person = Person.current] in
            try $0.setNote(key, to: value)
            try $0.audit(act, by: person, facts, at: now)
        }
    }

    func setNote(_ key: String, to value: JSON?) async throws(StoreError) {
        try await write { try $0.setNote(key, to: value) }
    }
}
