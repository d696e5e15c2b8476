public import BellhopCore

/// The counted effects of the rules of a back-test.
public struct BackTestTally: TrialObserver {
    /// The counts of one rule.
    public struct OfRule: Sendable, Hashable {
        public var runs = 0
        public var errors = 0
        public var lastError: String?
        /// The number of its decisions by verdict.
        public var verdicts: [DecisionRecord.Verdict: Int] = [:]
        /// The number of its deliveries by outcome.
        public var deliveries: [BackTestOutcome: Int] = [:]
        public var latest: Delivery?
        /// How many of its keys were dropped, because it had more than it may remember.
        public var droppedKeys = 0
        /// When it was paused, because it had too many keys of `once` or escalations.
        public var paused: Timestamp?

        public init() {}
    }

    /// The rules to count; nil for all.
    let counted: Set<String>?
    var zone: TimeZoneTable = .utc
    public private(set) var rules: [String: OfRule] = [:]
    /// The deliveries except empty messages, by the day on which they were made.
    public private(set) var days: [String: Int] = [:]
    /// The deliveries by receiver, by the group of their task and by task. Of each, only the names with the most deliveries are
    /// kept.
    public private(set) var receivers: [String: Int] = [:]
    public private(set) var groups: [String: Int] = [:]
    public private(set) var tasks: [String: Int] = [:]

    /// The most receivers, groups and tasks that are kept.
    static let maxCounted = 20_000

    public init(rules: Set<String>?) { counted = rules }

    /// A tally of all rules, counted elsewhere.
    public init(
        rules: [String: OfRule], days: [String: Int], receivers: [String: Int], groups: [String: Int], tasks: [String: Int]
    ) {
        counted = nil
        (self.rules, self.days, self.receivers, self.groups, self.tasks) = (rules, days, receivers, groups, tasks)
    }

    /// Adds the counted rules among these that did nothing, so that they are listed, too.
    public mutating func list(_ names: [String]) {
        for name in names where isCounted(name) && rules[name] == nil { rules[name] = OfRule() }
    }

    public func isCounted(_ rule: String) -> Bool { counted?.contains(rule) ?? true }

    public mutating func observe(_ event: StoredEvent, _ decisions: [DecisionRecord], in moment: TrialMoment) {}
    public mutating func observe(_ decision: DecisionRecord, of timer: RuleTimer, in moment: TrialMoment) {}

    public mutating func observe(_ routing: Routing, in moment: TrialMoment) {
        for tally in routing.tallies where isCounted(tally.rule) {
            rules[tally.rule, default: OfRule()].runs += tally.runs
            rules[tally.rule, default: OfRule()].errors += tally.errors
            if let error = tally.lastError { rules[tally.rule, default: OfRule()].lastError = error }
        }
        // A batch numbers its records and keeps the last ones, so the highest number is the count.
        var last: [String: [DecisionRecord.Verdict: Int]] = [:]
        for record in routing.decisions where isCounted(record.rule) && !record.verdict.isOfEarlier {
            last[record.rule, default: [:]][record.verdict] = Int(record.number)
        }
        for (rule, verdicts) in last { rules[rule, default: OfRule()].verdicts.merge(verdicts, uniquingKeysWith: +) }
    }

    public mutating func observe(_ loss: KeyLoss, in moment: TrialMoment) {
        guard isCounted(loss.rule) else { return }
        rules[loss.rule, default: OfRule()].droppedKeys += loss.dropped
        if loss.isStopped { rules[loss.rule, default: OfRule()].paused = moment.now }
    }

    mutating func count(_ delivery: Delivery, group: String?, isReleased: Bool) {
        guard isCounted(delivery.id.rule) else { return }
        let outcome = BackTestOutcome(delivery)
        let isSentLater = isReleased && outcome == .sent
        rules[delivery.id.rule, default: OfRule()].deliveries[isSentLater ? .released : outcome, default: 0] += 1
        if isReleased || outcome == .empty { return }
        rules[delivery.id.rule, default: OfRule()].latest = delivery
        days[zone.local(delivery.createdAt).date.description, default: 0] += 1
        Self.count(delivery.id.receiver, in: &receivers)
        if let group, !group.isEmpty { Self.count(group, in: &groups) }
        if let task = delivery.task { Self.count(task.number.isEmpty ? task.key.text : task.number, in: &tasks) }
    }

    /// Counts one more. If there are too many names, the half with the highest counts is kept.
    private static func count(_ name: String, in counts: inout [String: Int]) {
        counts[name, default: 0] += 1
        guard counts.count > maxCounted else { return }
        let most = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(maxCounted / 2)
        counts = Dictionary(uniqueKeysWithValues: most.map { ($0.key, $0.value) })
    }
}
