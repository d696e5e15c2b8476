public import BellhopCore

extension Explanation {
    /// The explanation for programs: `events`, each with its `rules`, and each of these with its `deliveries`.
    ///
    /// - Parameter isWhole: whether to include the rules that are not for such events.
    public func json(isWhole: Bool) -> JSON {
        [
            "cut": .bool(isCut),
            "events": .array(
                events.map { account in
                    var json = account.event.event.cloudEvent
                    json["sequence"] = .int(account.event.sequence)
                    json["rules"] = .array(account.rules.filter { isWhole || $0.isInQuestion }.map(\.json))
                    json["caused"] = .array(account.caused.map { .string($0.event.id.text) })
                    return json
                }),
            "others": .array(others.map(\.json)),
        ]
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
        if let next { json["next"] = .string(next.rfc3339) }
        if let answer { json["answer"] = .string(answer) }
        if let silence { json["silence"] = .string(silence) }
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
        func moment(_ json: JSON, _ name: String) -> BellhopCore.Timestamp? {
            json[name]?.asString.flatMap { BellhopCore.Timestamp(rfc3339: $0) }
        }
        guard let created = moment(json, "created"), let state = DeliveryState(rawValue: text("state")) else { return nil }
        self.init(
            id: text("id"), rule: text("rule"), occasion: Occasion.ID(text("occasion")), step: StepPath(text("step")),
            revision: text("revision"),
            state: state, action: text("action"), receiver: text("receiver"), content: text("content"), created: created)
        argument = json["argument"]?.asString
        next = moment(json, "next")
        answer = json["answer"]?.asString
        silence = json["silence"]?.asString
        attempts = (json["attempts"]?.asArray ?? []).compactMap { json in
            guard let at = moment(json, "time") else { return nil }
            return Attempt(
                number: json["attempt"]?.asInt ?? 0, at: at, outcome: json["outcome"]?.asString ?? "",
                detail: json["detail"]?.asString ?? "")
        }
    }
}
