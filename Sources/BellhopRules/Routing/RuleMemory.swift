import BellhopCore

/// The rules' state: what was stored before a batch, and what the batch adds. Each run counts for the next.
struct RuleMemory {
    private let known: [StateKey: JSON]
    private let now: Timestamp
    private var writes: [StateKey: StateWrite] = [:]

    /// - Parameter state: the state stored before.
    init(_ state: [StateKey: JSON], at now: Timestamp) {
        known = state
        self.now = now
    }

    /// The state to store, in a stable order.
    var written: [StateWrite] {
        writes.values.sorted {
            ($0.key.rule, $0.key.kind.rawValue, $0.key.key) < ($1.key.rule, $1.key.kind.rawValue, $1.key.key)
        }
    }

    private func state(_ key: StateKey) -> JSON? { writes[key]?.value ?? known[key] }

    /// Nil if `throttle` and `once` let the run through, which both then record. Else the one that stops it.
    mutating func pass(_ run: Matches.Run, _ rule: Rule) -> Decision.Stop.Reason? {
        var kept: [StateWrite] = []
        if let throttle = rule.throttle, let text = run.throttle {
            let key = rule.stateKey(.throttle, text)
            if case .int(let last)? = state(key) {
                let since = now - Timestamp(microseconds: last)
                // A clock that was set back must not extend the throttle.
                if since >= .zero, since < throttle.every { return .throttle(last: Timestamp(microseconds: last)) }
            }
            kept.append(StateWrite(key: key, value: .int(now.microseconds), expires: now + throttle.every))
        }
        if let text = run.once {
            let key = rule.stateKey(.once, text)
            if state(key) != nil { return .once(key: text) }
            kept.append(StateWrite(key: key, value: true))
        }
        for write in kept { writes[write.key] = write }
        return nil
    }

    /// Takes one write to a task from its budget; returns a failure if it is used up.
    mutating func spend(_ target: WriteTarget, _ rule: Rule) -> Failure? {
        let budget = rule.limit ?? .standard
        let key = rule.budgetKey(target)
        let start = (now - budget.within).microseconds
        var times = state(key)?.asArray?.compactMap(\.asInt).filter { $0 > start && $0 <= now.microseconds } ?? []
        guard times.count < budget.writes else {
            let time = DurationText.format(budget.within)
            let whose = rule.limit == nil ? "rules" : "this rule"
            return Failure(
                .budget, .giveUp,
                "\(target.reference.number.isEmpty ? target.key.text : target.reference.number) was written to \(times.count) times by "
                    + "\(whose) within \(time); `limit` in the rule sets how many writes are allowed")
        }
        times.append(now.microseconds)
        writes[key] = StateWrite(key: key, value: .array(times.map(JSON.int)), expires: now + budget.within)
        return nil
    }
}
