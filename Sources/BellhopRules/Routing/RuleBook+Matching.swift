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
}

/// Finds the rules for a batch of events.
private struct Matcher {
    private let book: RuleBook
    private let events: [StoredEvent]
    private let since: [String: Int64]
    private let frame: EventFrame
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
        matches = Matches(events: events)
        frame = EventFrame(book.facts, events: events)
        activation = Activation(book.slots)
        starts = Array(repeating: nil, count: book.compiled.count)
    }

    mutating func run() {
        var type: EventType?
        var rules: RuleIndex.ByType?
        var candidates: [Int] = []
        var work: Int64 = 0
        for place in events.indices {
            if work >= RuleBook.workPerBatch {
                matches.events = Array(events[..<place])
                break
            }
            if events[place].event.type != type {
                type = events[place].event.type
                rules = type.flatMap { book.index[$0] }
            }
            guard let rules else { continue }
            frame.move(to: place)
            candidates.removeAll(keepingCapacity: true)
            candidates += rules.always
            while members.count < rules.paths.count { members.append(0) }
            for (number, path) in rules.paths.enumerated() {
                guard let value = frame.read(path.reader, near: &members[number]), let found = path.rules[value] else { continue }
                candidates += found
            }
            if candidates.isEmpty { continue }
            if candidates.count > 1 { candidates.sort() }
            activation.begin(frame)
            for rule in candidates {
                activation.workLeft = RuleBook.workPerRun
                judge(rule, at: place)
                work += RuleBook.workPerRun - activation.workLeft
            }
        }
        matches.stateKeys = Array(keys)
        matches.scopesNeeded = Array(scopes)
    }

    private mutating func judge(_ number: Int, at place: Int) {
        let rule = book.compiled[number]
        guard rule.isFor(events[place].event), events[place].sequence > start(of: number, rule) else { return }
        var isCertain = true
        if let condition = rule.condition {
            if condition.needs.isEmpty {
                switch condition.program.verdict(activation) {
                case .yes: break
                case .no, .unknown: return
                case .failed(let error):
                    matches.errors.append(.init(event: place, rule: number, message: "`when` failed: \(error.message)"))
                    return
                }
            } else if isRuledOut(condition) {
                return
            } else {
                isCertain = false
            }
        }
        note(rule, number, at: place, isCertain: isCertain)
    }

    private mutating func start(of number: Int, _ rule: Rule) -> Int64 {
        if let start = starts[number] { return start }
        let start = since[rule.name] ?? .min
        starts[number] = start
        return start
    }

    /// Whether the values that a condition requires of the event alone rule it out, before anything is loaded.
    private func isRuledOut(_ condition: RuleExpression) -> Bool {
        condition.equalities.contains { equality in
            let reader = book.facts.readers[equality.slot.id]
            guard reader.isOfEvent else { return false }
            return frame.value(ofSlot: equality.slot.id).map { !equality.values.contains($0) } ?? true
        }
    }

    /// Records a run, and what is needed to decide it.
    private mutating func note(_ rule: Rule, _ number: Int, at place: Int, isCertain: Bool) {
        var run = Matches.Run(event: place, rule: number, isCertain: isCertain)
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
        let needsTasks = rule.stepsNeedTasks || (!isCertain && rule.condition?.needs.contains(.tasks) == true)
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
            run.failure = "\(what) has no value"
        } catch {
            run.failure = "\(what) failed: \(error.message)"
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
