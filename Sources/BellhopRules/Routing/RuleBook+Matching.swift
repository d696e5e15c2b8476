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

    /// Prepares deciding what due timers cause. Pure.
    public func match(_ timers: [RuleTimer]) -> Matches {
        var matches = Matches()
        (matches.timers, matches.count) = (timers, timers.count)
        return matches
    }

    /// Asks the conditions of the rules that these runs are of, and finds the state and snapshots that deciding needs. Pure.
    func match(_ contexts: [RunContext]) -> Matches {
        var matcher = Matcher(self, [], since: [:])
        matcher.run(contexts)
        return matcher.matches
    }
}

/// Finds the runs of a batch.
private struct Matcher {
    private let book: RuleBook
    private let events: [StoredEvent]
    private let since: [String: Int64]
    private let frame: RunFrame
    private let activation: Activation
    private(set) var matches: Matches
    /// The places after which rules see events, looked up on first use.
    private var starts: [Int64?]
    /// Where the previous event had the indexed values.
    private var members: [Int] = []
    private var keys: Set<StateKey> = []
    private var scopes: Set<Scope.ID> = []

    init(_ book: RuleBook, _ events: [StoredEvent], since: [String: Int64]) {
        self.book = book
        self.events = events
        self.since = since
        matches = Matches(events: events, count: events.count)
        frame = RunFrame(book.facts, events: events)
        activation = Activation(book.slots)
        starts = Array(repeating: nil, count: book.compiled.count)
    }

    mutating func run() {
        var type: EventType?
        var rules: RuleIndex.ByType?
        var candidates: [Int] = []
        /// The values that were read to find the candidates.
        var known: [(slot: Slot, value: Value)] = []
        var work: Int64 = 0
        for place in events.indices {
            if work >= RuleBook.workPerBatch || RuleBook.isCancelled(after: work) {
                matches.events = Array(events[..<place])
                matches.count = place
                break
            }
            if events[place].event.type != type {
                type = events[place].event.type
                rules = type.flatMap { book.index[$0] }
            }
            guard let rules else { continue }
            frame.move(to: place)
            if !candidates.isEmpty { candidates.removeAll(keepingCapacity: true) }
            if !rules.always.isEmpty { candidates += rules.always }
            while members.count < rules.paths.count { members.append(0) }
            if !known.isEmpty { known.removeAll(keepingCapacity: true) }
            // By index: an enumeration would copy the tables of each path.
            for number in rules.paths.indices {
                guard let value = frame.read(rules.paths[number].reader, near: &members[number]),
                    let found = rules.paths[number][value]
                else { continue }
                candidates += found
                if let slot = rules.paths[number].slot { known.append((slot, value)) }
            }
            if candidates.isEmpty { continue }
            if candidates.count > 1 { candidates.sort() }
            activation.begin(frame)
            for (slot, value) in known { activation.set(slot, to: value) }
            for rule in candidates {
                activation.workLeft = RuleBook.workPerRun
                if isFor(rule, at: place) { judge(Matches.Run(place: place, rule: rule)) }
                work += RuleBook.workPerRun - activation.workLeft
            }
        }
        finish()
    }

    mutating func run(_ contexts: [RunContext]) {
        (matches.contexts, matches.count) = (contexts, contexts.count)
        for (place, context) in contexts.enumerated() {
            frame.move(to: context)
            activation.begin(frame)
            activation.workLeft = RuleBook.workPerRun
            judge(Matches.Run(place: place, rule: context.rule, context: place))
        }
        finish()
    }

    private mutating func finish() {
        matches.stateKeys = Array(keys)
        matches.scopesNeeded = Array(scopes)
    }

    /// Evaluates the condition, and records the run unless the condition says no.
    private mutating func judge(_ run: Matches.Run) {
        let rule = book.compiled[run.rule]
        var run = run
        if let condition = rule.condition {
            if condition.needs.isEmpty {
                switch condition.program.verdict(activation) {
                case .yes: break
                case .no, .unknown: return
                case .failed(let error):
                    run.stop = .failed(.conditionFailed, "`when` failed: \(error.message)")
                    matches.runs.append(run)
                    return
                }
            } else if isRuledOut(condition) {
                return
            } else {
                run.isCertain = false
            }
        }
        note(run, of: rule)
    }

    /// Whether the rule sees the event, judged by `on` and `from` alone.
    private mutating func isFor(_ number: Int, at place: Int) -> Bool {
        let rule = book.compiled[number]
        guard rule.isFor(events[place].event) else { return false }
        let start = starts[number] ?? since[rule.name] ?? .min
        starts[number] = start
        return events[place].sequence > start
    }

    /// Whether the values that a condition requires of the event alone rule it out, before anything is loaded.
    private func isRuledOut(_ condition: RuleExpression) -> Bool {
        condition.equalities.contains { equality in
            let reader = book.facts.readers[equality.slot.id]
            guard reader.isOfEvent else { return false }
            return frame.value(ofSlot: equality.slot.id).map { !equality.values.contains($0) } ?? true
        }
    }

    /// Records a run, and what must be loaded to decide it.
    private mutating func note(_ run: Matches.Run, of rule: Rule) {
        var run = run
        if let once = rule.once { run.once = key(once, "`once`", .once, rule, &run) }
        if let throttle = rule.throttle {
            if let by = throttle.by {
                run.throttle = key(by, "`by`", .throttle, rule, &run)
            } else {
                run.throttle = ""
                keys.insert(rule.stateKey(.throttle, ""))
            }
        }
        if !rule.isShadow {
            let targets = WriteTargets(frame: frame, activation: activation, zone: rule.zone)
            for step in rule.steps {
                let target = step.action.effect == .writes ? try? targets.target(of: step) : targets.unseen(by: step)
                if let target { keys.insert(rule.budgetKey(target)) }
            }
        }
        let needsTasks = rule.stepsNeedTasks || (!run.isCertain && rule.condition?.needs.contains(.tasks) == true)
        if needsTasks { scopes.formUnion(rule.scopes) }
        matches.runs.append(run)
    }

    private mutating func key(
        _ expression: RuleExpression, _ what: String, _ kind: StateKey.Kind, _ rule: Rule, _ run: inout Matches.Run
    ) -> String? {
        do throws(EvaluationError) {
            if let text = try expression.program.evaluate(activation).keyText {
                keys.insert(rule.stateKey(kind, text))
                return text
            }
            run.stop = .failed(.keyFailed, "\(what) has no value")
        } catch {
            run.stop = .failed(.keyFailed, "\(what) failed: \(error.message)")
        }
        return nil
    }
}

extension Rule {
    /// The key of a piece of the rule's state. A rule in shadow mode has its own state, so that shadow runs never stop live ones.
    func stateKey(_ kind: StateKey.Kind, _ key: String) -> StateKey {
        StateKey(rule: isShadow ? "shadow/" + name : name, kind: kind, key: key)
    }

    /// Where the writes to a task are counted: over all rules, or separately for a rule with its own limit.
    func budgetKey(_ target: WriteTarget) -> StateKey {
        StateKey(rule: limit == nil ? "" : name, kind: .budget, key: "\(target.connection)/\(target.key.text)")
    }
}
