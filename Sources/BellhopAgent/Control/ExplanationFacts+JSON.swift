public import BellhopCore
public import BellhopRules

extension ExplanationFacts {
    /// A row for each event, delivery, decision and timer, under the name of its kind.
    var rows: [JSON] {
        events.map { ["event": $0.historyJSON, "unrouted": .bool(unrouted.contains($0.sequence))] }
            + caused.map { ["caused": $0.historyJSON] } + deliveries.map { ["delivery": $0.json] }
            + earlier.map { ["earlier": $0.json] }
            + decisions.map { ["decision": $0.json] } + timers.values.map { ["timer": $0.json] }
    }

    /// The facts that are not rows.
    var end: JSON {
        let paused = pauses.compactMap { pause -> JSON? in
            guard case .rule(let name) = pause.subject else { return nil }
            return ["rule": .string(name), "time": .string(pause.since.rfc3339)]
        }
        return [
            "cut": .bool(isCut), "paused": .array(paused),
            "turns": .array(
                turns.map { ["rule": .string($0.rule), "pause": .bool($0.isPause), "time": .string($0.at.rfc3339)] }),
            "changes": .array(
                changes.map {
                    [
                        "rule": .string($0.rule), "time": .string($0.at.rfc3339), "routed": .int($0.routed),
                        "kind": .string($0.kind.rawValue),
                    ]
                }),
            "rules": .array(
                rules.map { ["rule": .string($0.name), "revision": .string($0.revision), "since": .int($0.since)] }),
        ]
    }
}

extension DecisionRecord {
    fileprivate var json: JSON {
        [
            "rule": .string(rule), "verdict": .string(verdict.rawValue), "occasion": .string(occasion.text),
            "time": .string(at.rfc3339), "detail": .object(detail),
        ]
    }

    fileprivate init?(json: JSON) {
        guard let rule = json["rule"]?.asString, let verdict = json["verdict"]?.asString.flatMap(Verdict.init(rawValue:)),
            let occasion = json["occasion"]?.asString, let at = json["time"]?.asMoment
        else { return nil }
        self.init(
            rule: rule, verdict: verdict, occasion: Occasion.ID(occasion), at: at, detail: json["detail"]?.asObject ?? [:])
    }
}

extension RuleTimer {
    fileprivate var json: JSON {
        [
            "rule": .string(id.rule), "kind": .string(id.kind.rawValue), "key": .string(id.key), "due": .string(due.rfc3339),
            "payload": .object(payload),
        ]
    }

    fileprivate init?(json: JSON) {
        guard let rule = json["rule"]?.asString, let kind = json["kind"]?.asString.flatMap(Kind.init(rawValue:)),
            let key = json["key"]?.asString, let due = json["due"]?.asMoment
        else { return nil }
        self.init(ID(rule: rule, kind: kind, key: key), due: due, payload: json["payload"]?.asObject ?? [:])
    }
}

extension ExplanationFacts {
    /// Reads the answer to ``Inquiry/history(_:)``.
    public init(rows: [JSON], end: JSON) {
        self.init(events: [])
        for row in rows {
            if let event = row["event"].flatMap(StoredEvent.init(historyJSON:)) {
                events.append(event)
                if row["unrouted"] == true { unrouted.insert(event.sequence) }
            } else if let event = row["caused"].flatMap(StoredEvent.init(historyJSON:)) {
                caused.append(event)
            } else if let delivery = row["delivery"].flatMap(ExplainedDelivery.init(json:)) {
                deliveries.append(delivery)
            } else if let delivery = row["earlier"].flatMap(ExplainedDelivery.init(json:)) {
                earlier.append(delivery)
            } else if let record = row["decision"].flatMap(DecisionRecord.init(json:)) {
                decisions.append(record)
            } else if let timer = row["timer"].flatMap(RuleTimer.init(json:)) {
                timers[timer.id] = timer
            }
        }
        isCut = end["cut"] == true
        changes = end["changes"].elements.compactMap { json in
            guard let rule = json["rule"]?.asString, let kind = json["kind"]?.asString.flatMap(Change.Kind.init),
                let at = json["time"]?.asMoment
            else { return nil }
            return Change(of: rule, kind, at: at, routed: json["routed"]?.asInt ?? 0)
        }
        turns = end["turns"].elements.compactMap { json in
            guard let rule = json["rule"]?.asString, let at = json["time"]?.asMoment else { return nil }
            return Turn(of: rule, isPause: json["pause"] == true, at: at)
        }
        pauses = end["paused"].elements.compactMap { json in
            guard let rule = json["rule"]?.asString, let at = json["time"]?.asMoment else { return nil }
            return Pause(.rule(rule), since: at, reason: "")
        }
        rules = end["rules"].elements.compactMap { json in
            guard let name = json["rule"]?.asString, let since = json["since"]?.asInt else { return nil }
            return .init(name: name, revision: json["revision"]?.asString ?? "", since: since)
        }
    }
}
