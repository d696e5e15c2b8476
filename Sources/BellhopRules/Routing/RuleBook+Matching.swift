public import BellhopCore
import CEL

extension RuleBook {
    /// Finds the rules that run for each event, and the state and snapshots that deciding needs. Pure.
    ///
    /// - Parameter since: the place on the bus after which each rule sees events.
    public func match(_ events: [StoredEvent], since: [String: Int64]) -> Matches {
        var matcher = Matcher(self, events, since: since)
        matcher.run()
        return matcher.matches
    }

    /// The same for a replayed event, which ends no wait and no escalation. Pure.
    ///
    /// - Parameter paused: the rules that see no events.
    public func match(_ replay: Replay, paused: Set<String>) -> Matches {
        var since: [String: Int64] = [:]
        for rule in compiled {
            let sees = !paused.contains(rule.name) && (replay.rule == nil || replay.rule == rule.name)
            since[rule.name] = sees ? .min : .max
        }
        var matches = match([replay.event], since: since)
        matches.replay = replay
        (matches.endings, matches.answers) = ([], [])
        matches.runs.removeAll { run in
            if case .doesNotHold = run.condition { true } else { !run.fits }
        }
        return matches
    }

    /// Prepares deciding what due timers cause. Pure.
    public func match(_ timers: [RuleTimer]) -> Matches {
        var matches = Matches()
        (matches.timers, matches.count) = (timers, timers.count)
        for timer in timers {
            guard let rule = rule(named: timer.id.rule) else { continue }
            switch timer.id.kind {
            case .hold: matches.needs.state.insert(rule.holdKey(timer.id.key).at(""))
            case .group:
                matches.needs.state.formUnion([rule.stateKey(.group, timer.id.key), rule.stateKey(.gathered, timer.id.key)])
            case .absence: matches.needs.state.insert(rule.stateKey(.absence, timer.id.key))
            case .escalation: matches.needs.state.insert(.escalations(timer.id.key))
            case .schedule, .existing: break
            }
        }
        return matches
    }
}

extension Rule {
    /// The result of the condition for the run that the activation reads.
    func judge(_ activation: Activation) -> Matches.Condition {
        guard let condition else { return .holds }
        switch condition.program.verdict(activation) {
        case .yes: return .holds
        case .no, .unknown: return .doesNotHold
        case .failed(let error): return .failed(.failed(.conditionFailed, "`when` failed: \(error.message)"))
        }
    }

    /// The source and the key under which the rule waits for the run that the frame shows; nil if the key is null or fails.
    func holdID(_ hold: TimeParts.Hold, _ frame: RunFrame, _ activation: Activation) -> String? {
        var stop: Stop?
        let key = hold.by.map { RunKeys.key($0, "`by`", activation, &stop) } ?? frame.taskID
        return key.map { frame.source + "/" + $0 }
    }

    /// The key of what a task began: waits and absences under other keys than its id.
    func begunKey(source: String, _ task: TaskKey) -> StateKey { stateKey(.begun, "\(source)/\(task.text)") }

    /// Whether the frame's run only records its deliveries.
    func isShadow(for frame: RunFrame) -> Bool {
        if case .canary = summary.mode { isShadow(for: frame.reference?.key.text) } else { isShadow(for: String?.none) }
    }

    /// The key of a piece of the rule's state. Shadow runs have a state of their own, so that they never stop live ones.
    func stateKey(_ kind: StateKey.Kind, _ key: String, isShadow: Bool) -> StateKey {
        StateKey(rule: isShadow ? "shadow/" + name : name, kind: kind, key: key)
    }

    /// The key of what the rule waits for, counts and gathers: a rule in shadow mode does so by itself.
    func stateKey(_ kind: StateKey.Kind, _ key: String) -> StateKey {
        stateKey(kind, key, isShadow: summary.mode == .shadow)
    }

    /// The state of a wait: its own key, or a piece of a window for a rule that runs through a list.
    func holdKey(_ id: String) -> StateKey { time.each == nil ? stateKey(.hold, id) : stateKey(.hold, "").at(id) }

    /// The scopes whose tasks its runs read.
    var scopesOfRuns: [Scope.ID] { scopes(for: needsOfRuns) }

    /// The scopes whose tasks anything in it reads.
    var scopesRead: [Scope.ID] { scopes(for: needsOfRuns.union(escalation?.needs ?? [])) }

    private var needsOfRuns: RuleExpression.Needs {
        stepNeeds.union(condition?.needs ?? []).union(time.pattern?.needs ?? []).union(
            time.each.map { $0.needs.union(.tasks) } ?? [])
    }

    /// Where the writes to a task are counted: over all rules, or separately for a rule with its own limit.
    func budgetKey(_ target: WriteTarget) -> StateKey {
        StateKey(rule: limit == nil ? "" : name, kind: .budget, key: "\(target.connection)/\(target.key.text)")
    }
}
