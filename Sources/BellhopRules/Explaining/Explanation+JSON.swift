public import BellhopCore

extension Explanation {
    /// The explanation for programs: `events`, each with its `rules`, and each of these with its `deliveries`; and `caused`, the
    /// events that these runs emitted.
    ///
    /// - Parameters:
    ///   - isWhole: whether to include the rules that are not for such events.
    ///   - hasRules: whether the rules could be loaded, so that not only what was recorded is known.
    public func json(isWhole: Bool, hasRules: Bool) -> JSON {
        [
            "cut": .bool(isCut),
            "events": .array(
                events.map { account in
                    var json = account.event.historyJSON
                    json["rules"] = .array(account.rules.filter { isWhole || $0.isRelevant }.map(\.json))
                    json["caused"] = .array(account.caused.map { .string($0.event.id.text) })
                    return json
                }),
            "others": .array(others.map(\.json)), "caused": .array(events.flatMap(\.caused).map(\.historyJSON)),
            "rules_loaded": .bool(hasRules),
        ]
    }

    /// Reads what ``json(isWhole:hasRules:)`` wrote; nil for anything else. Each part of a condition has only its text and its value
    /// on one line.
    public init?(json: JSON) {
        guard let accounts = json["events"]?.asArray, let others = json["others"]?.asArray, let isCut = json["cut"]?.asBool,
            let all = json["caused"]?.asArray
        else { return nil }
        let caused = Dictionary(
            all.compactMap { StoredEvent(historyJSON: $0) }.map { ($0.event.id.text, $0) }, uniquingKeysWith: { one, _ in one }
        )
        var events: [EventAccount] = []
        for json in accounts {
            guard let event = StoredEvent(historyJSON: json), let rules = json["rules"]?.asArray else { return nil }
            let ids = (json["caused"]?.asArray ?? []).compactMap(\.asString)
            events.append(
                EventAccount(event: event, rules: rules.compactMap(Account.init(json:)), caused: ids.compactMap { caused[$0] }))
        }
        self.events = events
        self.others = others.compactMap(ExplainedDelivery.init(json:))
        self.isCut = isCut
    }
}

extension StoredEvent {
    /// The event with its place, and its distance from the first cause.
    public var historyJSON: JSON {
        var json = event.cloudEvent
        json["sequence"] = .int(sequence)
        json["hop"] = .int(Int64(event.hop))
        return json
    }

    /// Reads what ``historyJSON`` wrote; nil for anything else.
    public init?(historyJSON json: JSON) {
        guard var event = Event(cloudEvent: json), let sequence = json["sequence"]?.asInt else { return nil }
        event.hop = json["hop"]?.asInt.map { Int($0) } ?? 0
        self.init(sequence: sequence, event: event)
    }
}

extension Explanation.Account {
    fileprivate var json: JSON {
        [
            "rule": .string(rule), "verdict": .string(verdict.rawValue), "reason": .string(reason),
            "notes": .array(notes.map(JSON.string)),
            "parts": .array(
                parts.map { ["text": .string($0.text), "value": .string($0.brief), "depth": .int(Int64($0.depth))] }),
            "deliveries": .array(deliveries.map(\.json)),
        ]
    }

    /// A verdict that this version does not know counts as unknown; its reason says more.
    fileprivate init?(json: JSON) {
        guard let rule = json["rule"]?.asString, let verdict = json["verdict"]?.asString else { return nil }
        func list(_ name: String) -> [JSON] { json[name]?.asArray ?? [] }
        self.init(
            rule: rule, verdict: Explanation.Verdict(rawValue: verdict) ?? .unknown, reason: json["reason"]?.asString ?? "",
            notes: list("notes").compactMap(\.asString),
            parts: list("parts").map { part in
                Evaluation.Part(
                    text: part["text"]?.asString ?? "", line: 1, column: 1, depth: Int(part["depth"]?.asInt ?? 0),
                    outcome: .notEvaluated, times: 1, remoteBrief: part["value"]?.asString ?? "")
            },
            deliveries: list("deliveries").compactMap(ExplainedDelivery.init(json:)), isRelevant: true)
    }
}

extension ExplainedDelivery {
    /// The delivery with its attempts.
    public var json: JSON {
        var json: JSON.Object = [
            "id": .string(id), "rule": .string(rule), "occasion": .string(occasion.text), "step": .string(step.text),
            "revision": .string(revision),
            "state": .string(state.rawValue), "action": .string(action), "receiver": .string(receiver),
            "content": .string(content), "created": .string(created.rfc3339),
        ]
        if let replayed = occasion.replayed { json["replayed"] = .string(replayed.rfc3339) }
        if let argument { json["argument"] = .string(argument) }
        if resolves { json["resolve"] = true }
        if let next { json["next"] = .string(next.rfc3339) }
        if let answer { json["answer"] = .string(answer) }
        if let joined { json["joined"] = joined.json }
        if let silence { json["silence"] = .string(silence) }
        if let stop { json["stopped"] = stop }
        json["attempts"] = .array(
            attempts.map {
                [
                    "attempt": .int($0.number), "time": .string($0.at.rfc3339), "outcome": .string($0.outcome),
                    "detail": .string($0.detail),
                ]
            })
        return .object(json)
    }

    /// Reads what ``json`` wrote; nil for anything else.
    public init?(json: JSON) {
        func text(_ name: String) -> String { json[name]?.asString ?? "" }
        guard let created = json["created"]?.asMoment, let state = DeliveryState(rawValue: text("state")) else { return nil }
        self.init(
            id: text("id"), rule: text("rule"), occasion: Occasion.ID(text("occasion")), step: StepPath(text("step")),
            revision: text("revision"),
            state: state, action: text("action"), receiver: text("receiver"), content: text("content"), created: created)
        argument = json["argument"]?.asString
        resolves = json["resolve"] == true
        next = json["next"]?.asMoment
        answer = json["answer"]?.asString
        joined = json["joined"].flatMap(JoinedDelivery.init(json:))
        silence = json["silence"]?.asString
        stop = json["stopped"]
        attempts = (json["attempts"]?.asArray ?? []).compactMap { json in
            guard let at = json["time"]?.asMoment else { return nil }
            return Attempt(
                number: json["attempt"]?.asInt ?? 0, at: at, outcome: json["outcome"]?.asString ?? "",
                detail: json["detail"]?.asString ?? "")
        }
    }
}
