import BellhopCore
import BellhopTesting

/// Everything that can be read from a store, and a sample with a row in each table.
struct StoreContents: Hashable {
    var status: StoreStatus
    var known: [KnownTask]
    var cursor: Cursor?
    var answer: Fingerprint?
    var definitions: FieldDefinitions
    var tasks: [Scope.ID: [Snapshot]]
    var remembered: [TaskKey: RememberedTask]
    var events: [StoredEvent]
    var unrouted: [StoredEvent]
    var deliveries: [DeliveryRecord]
    var claims: [Claim]
    var comments: [String: [WrittenComment]]
    var writes: [String: [OwnWrite]]
    var state: RuleState
    var timers: [RuleTimer]
    var decisions: [DecisionRecord]
    var note: JSON?
    var silences: [SilenceRecord]
    var pauses: [Pause]
    var replays: [Replay]
    var audit: [AuditRow]

    private static let keys = (1...4).map(Sample.key)
    private static let subjects = (1...9).map(Sample.subject)
    private static let stateKeys = [
        StateKey(rule: "rule", kind: .once, key: "INC1001"), StateKey(rule: "rule", kind: .throttle, key: "INC1001"),
        StateKey(rule: "", kind: .budget, key: "INC1001"),
    ]
    private static let later = Sample.now + .seconds(600)

    /// Reads everything; running deliveries are claimed again.
    init(of store: any Store) async throws {
        status = try await store.status()
        let memory = try await store.open(Sample.scope, source: "tasks", at: Self.later)
        (known, cursor, answer) = (Array(memory.known), memory.cursor, memory.answer)
        definitions = memory.definitions
        tasks = try await store.tasks(in: [Sample.scope.id])
        remembered = try await store.remembered(Self.keys, in: Sample.scope.id)
        events = try await store.events(EventQuery()).events
        unrouted = try await store.unrouted(limit: 99)
        deliveries = try await store.deliveries(DeliveryQuery())
        comments = try await store.comments(on: Self.subjects, since: Sample.now)
        writes = try await store.writes(to: Self.subjects, since: Sample.now)
        state = try await store.state(for: Self.stateKeys)
        timers = try await store.dueTimers(at: Self.later, limit: 99)
        decisions = try await store.decisions(DecisionQuery())
        note = try await store.note("note")
        silences = try await store.silences()
        pauses = try await store.pauses()
        replays = try await store.replays(limit: 9)
        audit = try await store.audit(AuditQuery())
        try await store.start(.only, at: Self.later)
        claims = try await store.claim(limit: 99, excluding: [], until: Self.later, at: Self.later)
    }

    /// Writes a row into each table.
    static func fill(_ store: any Store) async throws {
        try await fillSource(store)
        _ = try await store.register(
            [
                RuleRegistration(name: "rule", revision: "1", schedule: .init(text: "0 8 * * *", next: later)),
                RuleRegistration(name: "off", revision: "2", isOff: true),
            ], at: Sample.now)
        try await store.route(
            Routing(
                routed: [1, 2], deliveries: deliveries,
                state: [
                    StateWrite(stateKeys[0], .set(true, expires: nil)), StateWrite(stateKeys[1], .set(.int(5), expires: later)),
                    StateWrite(stateKeys[2].at("1"), .set(.int(5), expires: later)),
                    StateWrite(stateKeys[2].at("2"), .set(.int(6), expires: later)),
                ],
                timers: [
                    .set(RuleTimer(.init(rule: "rule", kind: .schedule, key: "k"), due: later, payload: ["a": [1, .null]]))
                ],
                events: [Sample.event(4, type: .deliveryDead)],
                tallies: [RuleTally(rule: "rule", runs: 3, errors: 1, lastError: "no such field", at: Sample.now)],
                decisions: [
                    DecisionRecord(
                        rule: "rule", verdict: .conditionFailed, occasion: Occasion.ID("event/1"), at: Sample.now,
                        detail: ["error": "no such field"]),
                    DecisionRecord(
                        rule: "rule", verdict: .once, occasion: Occasion.ID("event/2"), at: Sample.now, number: 3,
                        detail: ["key": "INC1001"]),
                ]))
        let nexts: [RetryPolicy.Next] = [
            .done(
                Receipt(
                    "201, work note", reference: "entry", conversation: ConversationChange("INC1", firstMessage: ["ts": "1.5"]))),
            .done(Receipt("201", reference: Sample.subject(9))), .retry(at: later, Sample.failure), .dead(Sample.failure),
            .held(Sample.failure), .postponed(Sample.failure), .paused(Sample.failure, until: later),
        ]
        let rest = ReceiverStop(
            receiver: "6", cause: .rest, since: Sample.now, until: later, interval: .seconds(2), reason: "429")
        let claims = try await store.claim(limit: nexts.count + 1, excluding: [], until: later, at: Sample.now)
        _ = try await store.finish(
            zip(claims, nexts).map { claim, next in
                Finish(
                    claim, at: Sample.now, next: next,
                    uncertain: claim.delivery.id.receiver == "3", stops: claim.delivery.id.receiver == "6" ? [rest] : [])
            })
        let silence = Silence(
            id: "s1", when: "task.priority == 1", rules: ["rule"], receivers: ["ops"], starts: Sample.now, ends: later,
            reason: "moving", by: "ann", writes: true)
        try await store.add(silence, at: Sample.now)
        try await store.route(Routing(deliveries: [Sample.delivery(12, initial: .silenced(by: "s1"))]))
        try await store.pause(Pause(.rule("off"), since: Sample.now, reason: "noisy"))
        try await store.replay(Array(try await store.events(EventQuery(limit: 1))), rule: "rule", isForced: true, at: Sample.now)
        try await store.setNote("note", to: ["refused": ["once", 2, 1.5, false, .null]])
    }

    private static func fillSource(_ store: any Store) async throws {
        _ = try await store.open(Sample.scope, source: "tasks", at: Sample.now)
        _ = try await store.commit(Sample.poll([1, 2, 3]))
        var poll = Sample.poll([], removing: [3], turn: 1)
        poll.health = SourceHealth(
            failures: 2, failingSince: Sample.now, lastError: "it hung", announced: true, lastSuccess: Sample.now,
            held: HeldResult(json: [
                "fingerprint": .string(Fingerprint.of("x").hex), "known": 30, "listed": 0, "new": 0, "gone": 30, "changed": 120,
                "fields": ["state"], "polls": 2, "since": 7,
            ]), emptyBaseline: EmptyBaseline(since: Sample.now))
        _ = try await store.commit(poll)
    }

    /// A delivery for each outcome, of which the eighth is running, and one in each other state.
    private static var deliveries: [Delivery] {
        var all = (1...8).map { number in
            let action = number == 2 ? "create" : number < 5 ? "comment" : "webhook"
            return Sample.delivery(number, receiver: "\(number)", action: action, hop: number)
        }
        all[7].arguments = .message(Sample.message)
        all[7].name = "INC1008"
        var waiting = Sample.delivery(9)
        waiting.after = [all[7].id]
        waiting.expires = later
        waiting.retry = RetryPolicy(attempts: 2, base: .milliseconds(3), cap: .seconds(4))
        all += [waiting, Sample.delivery(10, initial: .shadow), Sample.delivery(11, initial: .dead(Sample.failure))]
        return all
    }
}
