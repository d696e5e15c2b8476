public import BellhopCore
import BellhopRules

extension BackTestReport {
    /// The most members of a list that a console sends.
    public static let maxSent = 500

    /// How many of the tasks with the most deliveries are written.
    private static let maxTasks = 100

    public var json: JSON {
        let tasks = tally.tasks.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.maxTasks)
        var json: JSON.Object = [
            "since": .string(since.rfc3339), "until": .string(until.rfc3339), "events": .int(Int64(events)),
            "rules": .array(tally.rules.sorted { $0.key < $1.key }.map { Self.json(of: $1, name: $0, sample: samples[$0]) }),
            "days": Self.json(tally.days), "receivers": Self.json(tally.receivers), "groups": Self.json(tally.groups),
            "tasks": Self.json(Dictionary(uniqueKeysWithValues: tasks.map { ($0.key, $0.value) })),
            "deliveries": deliveries.json, "count": .int(Int64(deliveries.count)), "unknown": .array(gaps.map(JSON.string)),
        ]
        if let difference { json["difference"] = difference.json }
        return .object(json)
    }

    private static func json(of rule: BackTestTally.OfRule, name: String, sample: BackTestSample?) -> JSON {
        [
            "rule": .string(name), "runs": .int(Int64(rule.runs)), "errors": .int(Int64(rule.errors)),
            "error": .optional(rule.lastError),
            "verdicts": json(Dictionary(uniqueKeysWithValues: rule.verdicts.map { ($0.key.rawValue, $0.value) })),
            "deliveries": json(Dictionary(uniqueKeysWithValues: rule.deliveries.map { ($0.key.rawValue, $0.value) })),
            "dropped_keys": .int(Int64(rule.droppedKeys)),
            "paused": .optional(rule.paused?.rfc3339), "sample": sample?.json ?? .null,
        ]
    }

    /// Reads what ``json`` wrote; nil for anything else. Facts that only `gaps` mention, such as unreadable events, are lost.
    public init?(json: JSON) {
        func moment(_ name: String) -> Timestamp? { json[name]?.asMoment }
        guard let since = moment("since"), let until = moment("until"), let events = json["events"]?.asInt,
            let rules = json["rules"]?.asArray
        else { return nil }
        self.init(since: since, until: until)
        self.events = Int(events)
        var found: [String: BackTestTally.OfRule] = [:]
        for rule in rules {
            guard let name = rule["rule"]?.asString else { return nil }
            found[name] = Self.rule(rule)
            samples[name] = rule["sample"].flatMap(BackTestSample.init(json:))
        }
        tally = BackTestTally(
            rules: found, days: Self.counts(json["days"]), receivers: Self.counts(json["receivers"]),
            groups: Self.counts(json["groups"]), tasks: Self.counts(json["tasks"]))
        if let difference = json["difference"] {
            guard let read = DeliveryDifference(json: difference) else { return nil }
            self.difference = read
        }
        gaps = json["unknown"].texts
        deliveries = DeliveryOutlines(json: json["deliveries"], count: json["count"])
    }

    private static func rule(_ json: JSON) -> BackTestTally.OfRule {
        var rule = BackTestTally.OfRule()
        func number(_ name: String) -> Int { Int(json[name]?.asInt ?? 0) }
        (rule.runs, rule.errors, rule.droppedKeys) = (number("runs"), number("errors"), number("dropped_keys"))
        rule.lastError = json["error"]?.asString
        for (name, count) in counts(json["verdicts"]) {
            // Verdicts and outcomes of a later version are left out.
            if let verdict = DecisionRecord.Verdict(rawValue: name) { rule.verdicts[verdict] = count }
        }
        for (name, count) in counts(json["deliveries"]) {
            if let outcome = BackTestOutcome(rawValue: name) { rule.deliveries[outcome] = count }
        }
        rule.paused = json["paused"]?.asMoment
        return rule
    }

    private static func json(_ counts: [String: Int]) -> JSON {
        .object(counts.sorted { $0.key < $1.key }.reduce(into: [:]) { $0[$1.key] = .int(Int64($1.value)) })
    }

    private static func counts(_ json: JSON?) -> [String: Int] {
        (json?.asObject ?? [:]).reduce(into: [:]) { $0[$1.key] = $1.value.asInt.map { Int($0) } }
    }
}
