import BellhopCore
import BellhopEngine
import BellhopRules

/// A person's request to route events again.
public struct ReplayRequest: Sendable, Hashable {
    /// Ids of events, or the starts of ids.
    public var events: [String]
    /// The only rule that shall see them; nil for all.
    public var rule: String?
    /// Whether runs ignore `once` and `throttle`.
    public var isForced: Bool
    /// Whether only to preview the result.
    public var isTrial: Bool

    public init(events: [String], rule: String? = nil, isForced: Bool = false, isTrial: Bool = false) {
        (self.events, self.rule, self.isForced, self.isTrial) = (events, rule, isForced, isTrial)
    }
}

extension Inquirer {
    /// Stores the replays, which are routed at once, or at the next start if no agent runs. For a trial, returns instead what the rules in
    /// force would do now.
    func replay(_ request: ReplayRequest) async throws(StoreError) -> JSON {
        guard let book = agent?.book() ?? book else {
            throw StoreError(.other, "The rules in force are not known yet: try again.")
        }
        if let rule = request.rule, !book.contains(rule) { throw Self.noRule(rule, among: book.rules.map(\.name)) }
        var events: [StoredEvent] = []
        for id in request.events {
            let event = try await event(id)
            if !events.contains(where: { $0.sequence == event.sequence }) { events.append(event) }
        }
        events.sort { $0.sequence < $1.sequence }
        guard request.isTrial else {
            let count = try await store.replay(events, rule: request.rule, isForced: request.isForced, at: clock.now)
            agent?.events.ring()
            return ["replayed": .int(Int64(count)), "agent": .bool(agent != nil)]
        }
        let context = EngineContext(store: store, clock: clock, signals: Signals([]))
        let now = clock.now
        let replays = events.map { Replay(id: 0, event: $0, rule: request.rule, isForced: request.isForced, at: now) }
        let routings = try await context.preview(replays, by: book)
        let paused = try await store.pauses().compactMap { pause -> String? in
            guard case .rule(let name) = pause.subject, request.rule.map({ $0 == name }) ?? true else { return nil }
            return name
        }
        let shown = zip(events, routings).map { event, routings in
            json(
                of: event, routings, by: book,
                paused: paused.filter { book.judge(event, by: $0, tasks: [:], at: now)?.isRelevant ?? false })
        }
        return ["events": .array(shown), "agent": .bool(agent != nil)]
    }

    /// - Parameters:
    ///   - routings: that of the event, and those of the events that it causes.
    ///   - paused: the rules for such events that are paused.
    private func json(of event: StoredEvent, _ routings: [Routing], by book: RuleBook, paused: [String]) -> JSON {
        let deliveries = routings.flatMap(\.deliveries).map { delivery -> JSON in
            var json = delivery.rendered(to: connection(delivery.id.receiver))
            json["rule"] = .string(delivery.id.rule)
            json["state"] = .string(delivery.initial.name)
            return json
        }
        return [
            "id": .string(event.event.id.text), "type": .string(event.event.type.name), "source": .string(event.event.source),
            "subject": .string(event.event.subject), "time": .string(event.event.time.rfc3339),
            "deliveries": .array(deliveries),
            "waits": .array(
                routings.flatMap(\.timers).compactMap { change in
                    guard case .set(let timer) = change else { return nil }
                    return ["rule": .string(timer.id.rule), "due": .string(timer.due.rfc3339)]
                }),
            "stops": .array(
                // Leave out decisions about earlier events.
                routings.flatMap(\.decisions).filter { !$0.verdict.isOfEarlier }.map { record in
                    [
                        "rule": .string(record.rule), "verdict": .string(record.verdict.rawValue),
                        "reason": .string(book.clause(record)),
                        "prevents": .bool(record.verdict.isOfRun && !record.verdict.isWaiting && record.verdict != .noStep),
                        "detail": .object(record.detail),
                    ]
                }
                    + paused.map { rule in
                        [
                            "rule": .string(rule), "verdict": "unseen", "reason": "the rule is paused, and sees no events",
                            "prevents": true, "detail": [:],
                        ]
                    }),
        ]
    }

    /// The event with this id, or the event whose id begins with it; throws if there are several.
    private func event(_ id: String) async throws(StoreError) -> StoredEvent {
        let found = id.isEmpty ? [] : Array(try await store.events(EventQuery(id: id, limit: 2)))
        let exact = found.first { $0.event.id.text == id }
        guard let event = exact ?? found.first else {
            let name = id.isEmpty ? "without an id" : "`\(id)`"
            throw StoreError(.other, "There is no event \(name): `bellhop events` lists them.")
        }
        guard exact != nil || found.count == 1 else {
            throw StoreError(.other, "Several events begin with \(id): give more of the id.")
        }
        return event
    }
}
