import BellhopCore

/// The rules' state: what was stored before a batch, and what the batch adds. Each run sees the changes of those before it.
struct RuleMemory {
    private let known: RuleState
    /// The keys that were read from the store.
    private let keys: [StateKey]
    private lazy var readKeys = Set(keys)
    private let now: Timestamp
    private var writes: [StateKey: StateWrite] = [:]
    private var budgets: [StateKey: Spent] = [:]

    /// The writes to a task within the time of its budget.
    private struct Spent {
        var count = 0
        /// The number of the latest: the element of its row.
        var latest = 0
    }

    /// - Parameter state: the state stored before, read for these keys.
    init(_ state: RuleState, of keys: [StateKey], at now: Timestamp) {
        known = state
        self.keys = keys
        self.now = now
    }

    /// The changes to store, in a stable order.
    var written: [StateWrite] {
        writes.values.sorted {
            ($0.key.rule, $0.key.kind.rawValue, $0.key.key, $0.key.element)
                < ($1.key.rule, $1.key.kind.rawValue, $1.key.key, $1.key.element)
        }
    }

    private func value(_ key: StateKey) -> JSON? {
        switch writes[key]?.change {
        case .set(let value, _): value
        case .delete: nil
        case nil: known[key]
        }
    }

    /// Sets a value that must still be stored as it was read.
    private mutating func set(_ key: StateKey, to value: JSON, expires: Timestamp? = nil) {
        let expected = known[key].map { StateWrite.Expectation.value($0) } ?? .absent
        writes[key] = StateWrite(key, .set(value, expires: expires), expecting: expected)
    }

    /// Nil if `throttle` and `once` allow the run, which both then record; otherwise the one that stops it.
    mutating func pass(_ run: Matches.Run, _ rule: Rule) -> Stop? {
        let throttle = run.throttle.map { rule.stateKey(.throttle, $0) }
        if let throttle, let every = rule.throttle?.every, case .int(let last)? = value(throttle) {
            let since = now - Timestamp(microseconds: last)
            // A clock that was set back must not extend the throttle.
            if since >= .zero, since < every {
                return Stop(verdict: .throttled, detail: ["last": .string(Timestamp(microseconds: last).rfc3339)])
            }
        }
        if let text = run.once {
            let key = rule.stateKey(.once, text)
            if value(key) != nil { return Stop(verdict: .once, detail: ["key": .string(text)]) }
            set(key, to: true)
        }
        if let throttle, let every = rule.throttle?.every { set(throttle, to: .int(now.microseconds), expires: now + every) }
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
            return Failure(
                .budget, .giveUp,
                "\(target.reference.number.isEmpty ? target.key.text : target.reference.number) was written to \(spent.count) times by "
                    + "\(whose) within \(time); `limit` in the rule sets how many writes are allowed")
        }
        spent.count += 1
        spent.latest += 1
        let row = key.at(String(spent.latest))
        // A task that matching could not find has a budget that was not read, so nothing is known of its rows.
        writes[row] = StateWrite(
            row, .set(.int(now.microseconds), expires: now + budget.within), expecting: readKeys.contains(key) ? .absent : .any)
        return nil
    }

    /// The state to store for a budget. Rows of writes that no longer count are deleted.
    private mutating func recall(_ key: StateKey, since start: Timestamp) -> Spent {
        var spent = Spent()
        for (element, time) in known.window(key) {
            spent.latest = max(spent.latest, Int(element) ?? 0)
            if let time = time.asInt, time > start.microseconds, time <= now.microseconds {
                spent.count += 1
            } else {
                writes[key.at(element)] = StateWrite(key.at(element), .delete)
            }
        }
        return spent
    }
}
