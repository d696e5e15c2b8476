public import BellhopCore
public import BellhopRules

/// The deliveries that rules would have made in a time, and the reasons why this is uncertain.
public struct BackTestReport: Sendable {
    public var since: Timestamp
    public var until: Timestamp
    /// When the first of the events was; nil without any.
    public var first: Timestamp?
    /// How many events the rules were shown.
    public var events = 0
    public var unreadable = 0
    /// Whether the store has events before this time.
    public var hasEarlier = false
    public var tally = BackTestTally(rules: nil)
    /// Nil if it was not compared.
    public var difference: DeliveryDifference?
    /// The facts that the history lacks, as sentences.
    public var gaps: [String] = []
    /// The deliveries in their order: for programs.
    public private(set) var deliveries = DeliveryOutlines()
    /// The indexes in `deliveries` of the messages that quiet times hold.
    private var held: [Delivery.ID: Int] = [:]

    init(since: Timestamp, until: Timestamp) { (self.since, self.until) = (since, until) }

    /// A message that a quiet time held is one delivery: its state changes if it is not sent at the end.
    mutating func add(_ made: BackTest.Made, _ isCounted: (String) -> Bool) {
        for delivery in made.deliveries where isCounted(delivery.id.rule) {
            let place = deliveries.add(DeliveryOutline(delivery))
            if case .quiet = delivery.initial { held[delivery.id] = place }
        }
        for delivery in made.released {
            guard let place = held.removeValue(forKey: delivery.id), delivery.initial != .available else { continue }
            deliveries.setState(delivery.initial.name, at: place)
        }
    }

    public var json: JSON {
        var json: JSON.Object = [
            "since": .string(since.rfc3339), "until": .string(until.rfc3339), "events": .int(Int64(events)),
            "rules": .array(
                tally.rules.sorted { $0.key < $1.key }.map { name, rule in
                    [
                        "rule": .string(name), "runs": .int(Int64(rule.runs)), "errors": .int(Int64(rule.errors)),
                        "error": rule.lastError.map(JSON.string) ?? .null,
                        "verdicts": counts(rule.verdicts.map { ($0.key.rawValue, $0.value) }),
                        "deliveries": counts(rule.deliveries.map { ($0.key, $0.value) }),
                        "dropped_keys": .int(Int64(rule.droppedKeys)),
                        "paused": rule.paused.map { .string($0.rfc3339) } ?? .null,
                    ]
                }),
            "days": counts(tally.days.map { ($0.key, $0.value) }),
            "receivers": counts(tally.receivers.map { ($0.key, $0.value) }),
            "groups": counts(tally.groups.map { ($0.key, $0.value) }),
            "deliveries": deliveries.json, "count": .int(Int64(deliveries.count)), "unknown": .array(gaps.map(JSON.string)),
        ]
        if let difference {
            json["difference"] = difference.json
        }
        return .object(json)
    }

    private func counts(_ counts: [(String, Int)]) -> JSON {
        .object(counts.sorted { $0.0 < $1.0 }.reduce(into: [:]) { $0[$1.0] = .int(Int64($1.1)) })
    }
}
