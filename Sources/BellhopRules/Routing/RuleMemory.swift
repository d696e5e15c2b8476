import BellhopCore
import CEL

/// The rules' state: what was stored before a batch, and what the batch adds. Each run sees the changes of those before it.
struct RuleMemory {
    private let facts: RoutingFacts
    private let now: Timestamp
    private var writes: [StateKey: (number: Int, write: StateWrite)] = [:]
    private var count = 0
    /// The pieces of windows among the writes, by the key without the element.
    private var written: [StateKey: Set<StateKey>] = [:]
    /// The requested keys that were not read yet.
    private(set) var missing: Set<StateKey> = []
    private var budgets: [StateKey: Spent] = [:]
    /// The windows of gathered events, each read from its rows once for the whole batch.
    private var gathered: [StateKey: [StateKey: Gathered]] = [:]

    /// The writes to a task within the time of its budget.
    private struct Spent {
        var count = 0
        /// The number of the latest: the element of its row.
        var latest = 0
    }

    init(_ facts: RoutingFacts, at now: Timestamp) { (self.facts, self.now) = (facts, now) }

    /// The changes to store, in the order in which they were made first.
    var changes: [StateWrite] { writes.values.sorted { $0.number < $1.number }.map(\.write) }

    /// Whether the value, or the window, was read; if not, it is among the missing ones afterwards.
    mutating func isKnown(_ key: StateKey) -> Bool {
        if facts.isKnown(key) { return true }
        missing.insert(key.at(""))
        return false
    }

    mutating func value(_ key: StateKey) -> JSON? {
        switch writes[key]?.write.change {
        case .set(let value, _): value
        case .delete: nil
        case nil: isKnown(key) ? facts.state[key] : nil
        }
    }

    mutating func wait(_ key: StateKey) -> Wait? { value(key).flatMap(Wait.init) }

    /// The pieces of a window.
    mutating func window(_ key: StateKey) -> [StateKey: JSON] {
        var window = isKnown(key) ? facts.state.window(key) : [:]
        for piece in written[key] ?? [] { window[piece] = value(piece) }
        return window
    }

    /// The events of a window; one that cannot be read is deleted.
    mutating func gathered(_ key: StateKey) -> [StateKey: Gathered] {
        if let known = gathered[key] { return known }
        var events = facts.gathered[key] ?? [:]
        if events.isEmpty {
            for (piece, json) in window(key) {
                events[piece] = Gathered(name: piece.element, json: json)
                if events[piece] == nil { delete(piece) }
            }
        } else {
            for piece in written[key] ?? [] {
                events[piece] = value(piece).flatMap { Gathered(name: piece.element, json: $0) }
            }
        }
        if isKnown(key) { gathered[key] = events }
        return events
    }

    /// Sets an event of a window, as ``gathered(_:)`` reads it.
    mutating func set(_ event: Gathered, in key: StateKey, expires: Timestamp? = nil) {
        write(key.at(event.name), .set(event.json, expires: expires))
        gathered[key]?[key.at(event.name)] = event
    }

    /// Sets a value that must still be stored as it was read.
    mutating func set(_ key: StateKey, to value: JSON, expires: Timestamp? = nil) {
        if !key.element.isEmpty { gathered[key.at("")]?[key] = Gathered(name: key.element, json: value) }
        write(key, .set(value, expires: expires))
    }

    /// Deletes a value that must still be stored as it was read.
    mutating func delete(_ key: StateKey) {
        if !key.element.isEmpty { gathered[key.at("")]?[key] = nil }
        if facts.state[key] == nil {
            writes[key] = nil
            if !key.element.isEmpty { written[key.at("")]?.remove(key) }
        } else {
            write(key, .delete)
        }
    }

    private mutating func write(_ key: StateKey, _ change: StateWrite.Change) {
        guard isKnown(key) else { return }
        let expected = facts.state[key].map { StateWrite.Expectation.value($0) } ?? .absent
        add(StateWrite(key, change, expecting: expected))
        if !key.element.isEmpty { written[key.at(""), default: []].insert(key) }
    }

    private mutating func add(_ write: StateWrite) {
        writes[write.key] = (writes[write.key]?.number ?? count, write)
        count += 1
    }

    /// Checks `throttle` and `once`. If both allow the run, both record it and the result is nil; otherwise the result names the
    /// one that stops the run.
    /// - Parameter moment: when the run counts as made; not later than now.
    mutating func pass(_ keys: RunKeys, _ rule: Rule, _ occasion: Occasion.ID, at moment: Timestamp) -> Stop? {
        let throttle = keys.throttle.map { rule.stateKey(.throttle, $0, isShadow: keys.isShadow) }
        if let throttle, let every = rule.throttle?.every, let run = value(throttle).flatMap(EarlierRun.init) {
            // A clock that was set back must not extend the throttle.
            if run.at <= now, moment - run.at < every {
                // Stopping a run uses the key, too: of too many keys, those not used for the longest time are dropped.
                set(throttle, to: run.json, expires: run.at + every)
                return Stop(verdict: .throttled, detail: run.detail)
            }
        }
        let run = EarlierRun(at: moment, occasion: occasion)
        if let text = keys.once {
            let key = rule.stateKey(.once, text, isShadow: keys.isShadow)
            if let earlier = value(key) {
                var detail = EarlierRun(earlier)?.detail ?? [:]
                detail["key"] = .string(text)
                return Stop(verdict: .once, detail: detail)
            }
            set(key, to: run.json)
        }
        if let throttle, let every = rule.throttle?.every { set(throttle, to: run.json, expires: moment + every) }
        return nil
    }

    /// Takes one write to a task from its budget; returns a failure if it is used up.
    mutating func spend(_ target: WriteTarget, _ rule: Rule) -> Failure? {
        let budget = rule.limit ?? .standard
        let key = rule.budgetKey(target)
        var spent = budgets[key] ?? recall(key, since: now - budget.within)
        defer { budgets[key] = spent }
        guard spent.count < budget.writes else {
            let time = DurationText.format(budget.within)
            let whose = rule.limit == nil ? "rules" : "this rule"
            let often = spent.count == 1 ? "once" : "\(spent.count) times"
            return Failure(
                .budget, .giveUp,
                "\(target.reference.number.isEmpty ? target.key.text : target.reference.number) was written to \(often) by "
                    + "\(whose) within \(time); `limit` in the rule sets how many writes are allowed")
        }
        spent.count += 1
        spent.latest += 1
        set(key.at(String(spent.latest)), to: .int(now.microseconds), expires: now + budget.within)
        return nil
    }

    /// The writes that count against a budget. Rows of writes that no longer count are deleted.
    private mutating func recall(_ key: StateKey, since start: Timestamp) -> Spent {
        var spent = Spent()
        guard isKnown(key) else { return spent }
        for (piece, time) in facts.state.window(key) {
            spent.latest = max(spent.latest, Int(piece.element) ?? 0)
            if let time = time.asInt, time > start.microseconds, time <= now.microseconds {
                spent.count += 1
            } else {
                add(StateWrite(piece, .delete))
            }
        }
        return spent
    }
}

/// The run that `once` or `throttle` remembers under a key.
struct EarlierRun {
    var at: Timestamp
    var occasion: Occasion.ID

    init(at: Timestamp, occasion: Occasion.ID) { (self.at, self.occasion) = (at, occasion) }

    init?(_ json: JSON) {
        let parts = json.asString?.split(separator: " ", maxSplits: 1) ?? []
        guard parts.count == 2, let microseconds = Int64(parts[0]) else { return nil }
        self.init(at: Timestamp(microseconds: microseconds), occasion: Occasion.ID(String(parts[1])))
    }

    /// One text, which saves space, because there may be very many earlier runs.
    var json: JSON { .string("\(at.microseconds) \(occasion.text)") }

    /// The form in the record of a stop.
    var detail: JSON.Object { ["last": .string(at.rfc3339), "by": .string(occasion.text)] }
}

/// The values of `once` and of `throttle`'s `by` for a run.
struct RunKeys: Sendable {
    var once: String?
    var throttle: String?
    /// Whether the run only records its deliveries.
    var isShadow = false
    /// The error, if one of them has no value or failed.
    var stop: Stop?

    init() {}

    init(_ rule: Rule, _ frame: RunFrame, _ activation: Activation) {
        isShadow = rule.isShadow(for: frame)
        if let expression = rule.once { once = Self.key(expression, "`once`", activation, &stop) }
        if let limit = rule.throttle {
            throttle = limit.by.map { Self.key($0, "`by`", activation, &stop) } ?? ""
        }
    }

    func stateKeys(of rule: Rule) -> [StateKey] {
        [
            once.map { rule.stateKey(.once, $0, isShadow: isShadow) },
            throttle.map { rule.stateKey(.throttle, $0, isShadow: isShadow) },
        ].compactMap { $0 }
    }

    /// The text of a key; nil, with the reason, if it is null or fails.
    static func key(_ expression: RuleExpression, _ what: String, _ activation: Activation, _ stop: inout Stop?) -> String? {
        do throws(EvaluationError) {
            if let text = try expression.program.evaluate(activation).keyText { return text }
            stop = .failed(.keyFailed, "\(what) has no value")
        } catch {
            stop = .failed(.keyFailed, "\(what) failed: \(error.message)")
        }
        return nil
    }
}
