import BellhopCore

/// The state of the rules of a trial, with the same bound for each rule as in the store: of too many keys those that were not used for
/// the longest time are dropped, and a rule with too many keys of `once` or too many escalations is stopped.
struct TrialState: Sendable {
    private(set) var values: RuleState = [:]
    /// The events of the windows among them: a decision does not read each from its value again, because a count may have very many.
    private(set) var gathered: [StateKey: [StateKey: Gathered]] = [:]
    /// The expiry times of the pieces of state that have one.
    private var expiries: [StateKey: Timestamp] = [:]
    /// When the pieces of the keys that may be dropped were last used, by rule and key.
    private var uses: [String: [StateKey: [StateKey: Timestamp]]] = [:]
    /// How many keys of `once` each rule has.
    private var once: [String: Int] = [:]
    /// The escalations that each rule has under way.
    private var escalations: [String: Set<StateKey>] = [:]
    /// The rules that were stopped: they see no events, and their timers do not fire.
    private(set) var stopped: Set<String> = []
    private let most: Int
    private let start: Timestamp

    /// - Parameter most: how many keys each rule may remember.
    init(most: Int, from start: Timestamp) { (self.most, self.start) = (most, start) }

    /// How many pieces are kept.
    var count: Int { values.all.count }

    /// Makes the changes of one routing, and returns what the rules lost with them, each with the keys that were dropped.
    mutating func apply(_ writes: [StateWrite], at now: Timestamp) -> [(loss: KeyLoss, keys: [StateKey])] {
        var rules: Set<String> = []
        for write in writes {
            switch write.change {
            case .set(let value, let expires):
                set(write.key, to: value, expires: expires, at: now)
                if write.key.kind != .budget { rules.insert(write.key.ruleName) }
            case .delete: remove(write.key)
            }
        }
        return rules.sorted().compactMap { bound($0, at: now) }
    }

    /// Removes what ended over an hour ago, as the agent does once an hour.
    mutating func prune(at now: Timestamp) {
        let (hours, _) = (now - start).components.seconds.quotientAndRemainder(dividingBy: 3600)
        let pruned = start + .seconds(hours * 3600)
        for (key, end) in expiries where end < pruned - StateWrite.clockCorrection { remove(key) }
    }

    /// Reads all values again from the form in which the store keeps them.
    mutating func reread(_ stored: (JSON) -> JSON?) {
        var read: RuleState = [:]
        for (key, value) in values.all { read[key] = stored(value) }
        values = read
        gathered = [:]
        for (key, value) in read.all { gather(key, value) }
    }

    /// Keeps the event of a piece of a window; nil if the piece is gone.
    private mutating func gather(_ key: StateKey, _ value: JSON?) {
        guard key.kind.isOfEvents, !key.element.isEmpty else { return }
        let window = key.at("")
        gathered[window, default: [:]][key] = value.flatMap { Gathered(name: key.element, json: $0) }
        if gathered[window]?.isEmpty ?? false { gathered[window] = nil }
    }

    private mutating func bound(_ rule: String, at now: Timestamp) -> (loss: KeyLoss, keys: [StateKey])? {
        func isOver() -> Bool { [uses[rule]?.count, once[rule], escalations[rule]?.count].contains { $0 ?? 0 > most } }
        guard isOver() else { return nil }
        prune(at: now)
        guard isOver() else { return nil }
        let keys = uses[rule]?.count ?? 0
        let lost = keys > most ? drop(keys - most + most / 100, of: rule, at: now) : []
        var loss = KeyLoss(rule: rule, dropped: lost.count, most: most, isStopped: false)
        if max(once[rule] ?? 0, escalations[rule]?.count ?? 0) > most { loss.isStopped = stopped.insert(rule).inserted }
        return loss.dropped > 0 || loss.isStopped ? (loss, lost) : nil
    }

    /// Drops the keys that were not used for the longest time, each with the record of the task that began it. Returns those that had
    /// not expired.
    private mutating func drop(_ count: Int, of rule: String, at now: Timestamp) -> [StateKey] {
        let keys = (uses[rule] ?? [:]).map { key, pieces in (used: pieces.values.max() ?? start, key: key) }
        let oldest = keys.sorted { ($0.used, $0.key) < ($1.used, $1.key) }.prefix(count).map(\.key)
        let lost = oldest.filter { key in
            uses[rule]?[key]?.keys.contains { piece in expiries[piece].map { $0 > now } ?? true } ?? false
        }
        for key in oldest {
            if let value = values[key], let source = value["source"]?.asString, let task = value["task"]?.asString {
                remove(StateKey(rule: key.rule, kind: .begun, key: source + "/" + task, element: key.key))
            }
            for piece in (uses[rule]?[key] ?? [:]).keys { remove(piece) }
        }
        return lost
    }

    private mutating func set(_ key: StateKey, to value: JSON, expires: Timestamp?, at now: Timestamp) {
        if key.kind == .once, values[key] == nil { once[key.ruleName, default: 0] += 1 }
        if key.kind.isDropped { uses[key.ruleName, default: [:]][key.at(""), default: [:]][key] = now }
        if key.kind == .escalation {
            escalations[key.ruleName, default: []].remove(key)
            if expires == nil { escalations[key.ruleName, default: []].insert(key) }
        }
        values[key] = value
        gather(key, value)
        expiries[key] = expires
    }

    private mutating func remove(_ key: StateKey) {
        expiries[key] = nil
        guard values[key] != nil else { return }
        values[key] = nil
        gather(key, nil)
        if key.kind == .once { once[key.ruleName, default: 0] -= 1 }
        if key.kind == .escalation { escalations[key.ruleName]?.remove(key) }
        guard key.kind.isDropped else { return }
        uses[key.ruleName]?[key.at("")]?[key] = nil
        if uses[key.ruleName]?[key.at("")]?.isEmpty ?? false { uses[key.ruleName]?[key.at("")] = nil }
    }
}

extension StateKey.Kind {
    /// Whether the pieces of its windows are events.
    fileprivate var isOfEvents: Bool {
        switch self {
        case .count, .gathered, .match: true
        case .throttle, .once, .budget, .hold, .group, .absence, .begun, .escalation, .escalated, .steps, .digest: false
        }
    }

    /// Whether keys of this kind count as keys of their rule, and are dropped if there are too many.
    fileprivate var isDropped: Bool {
        switch self {
        case .throttle, .hold, .count, .group, .gathered, .match, .absence: true
        case .once, .budget, .begun, .escalation, .escalated, .steps, .digest: false
        }
    }
}

/// In the order of the store, which compares texts by their bytes.
private func < (left: (used: Timestamp, key: StateKey), right: (used: Timestamp, key: StateKey)) -> Bool {
    if left.used != right.used { return left.used < right.used }
    for (one, other) in zip(left.key.texts, right.key.texts) where one != other {
        return one.utf8.lexicographicallyPrecedes(other.utf8)
    }
    return false
}

extension StateKey {
    fileprivate var texts: [String] { [rule, kind.rawValue, key] }
}

/// Restarts of the agent.
extension Trial {
    /// Restarts the agent: reads the stored facts again, in their stored form, and loads the rules again.
    mutating func reload() {
        state.reread(Self.stored)
        for (scope, list) in tasks.lists {
            tasks.set(list.compactMap { Snapshot(json: Self.stored($0.json(source: "")) ?? .null) }, of: scope)
        }
        for timer in timers.all {
            timers.replace(RuleTimer(timer.id, due: timer.due, payload: Self.stored(.object(timer.payload))?.asObject ?? [:]))
        }
        for rule in book.registrations(at: now) {
            guard let next = rule.schedule?.next else { continue }
            let id = RuleTimer.ID(rule: rule.name, kind: .schedule)
            if var timer = timers[id] {
                timer.due = min(timer.due, next)
                timers.replace(timer)
            } else {
                set(RuleTimer(id, due: next))
            }
        }
    }

    /// The value as it is read from its text.
    private static func stored(_ value: JSON) -> JSON? { try? JSON.parse(value.encoded()) }
}

/// The values that were added last: at least `most` of them, at most twice as many.
struct RecentSet<Value: Hashable & Sendable>: Sendable {
    private let most: Int
    private var (young, old): (Set<Value>, Set<Value>) = ([], [])

    init(most: Int) { self.most = most }

    var count: Int { young.count + old.count }

    func contains(_ value: Value) -> Bool { young.contains(value) || old.contains(value) }

    mutating func insert(_ value: Value) {
        young.insert(value)
        if young.count >= most { (young, old) = ([], young) }
    }

    mutating func remove(_ value: Value) {
        young.remove(value)
        old.remove(value)
    }
}
