import BellhopCore
import CEL

/// Finds the runs of a batch.
struct Matcher {
    private let book: RuleBook
    private let events: [StoredEvent]
    private let since: [String: Int64]
    private let frame: RunFrame
    private let activation: Activation
    private(set) var matches: Matches
    /// Whether an event may end an escalation. Asked first, because passing each event on copies it.
    private let endsEscalations: Bool
    /// The places after which rules see events, looked up on first use.
    private var starts: [Int64?]
    /// The source of the previous event, and whether bellhop.yaml has it.
    private var source: (name: String, isConfigured: Bool)?
    /// Where the previous event had the indexed values.
    private var members: [Int] = []

    init(_ book: RuleBook, _ events: [StoredEvent], since: [String: Int64]) {
        (self.book, self.events, self.since) = (book, events, since)
        matches = Matches(events: events, count: events.count)
        frame = RunFrame(book.facts, events: events)
        activation = Activation(book.slots)
        endsEscalations = book.escalating?.isEmpty != true
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
            if work >= RuleBook.workPerBatch || RuleBook.isCancelled(after: work) { return matches.end(before: place) }
            if endsEscalations, let key = book.escalations(endedBy: events[place].event) {
                matches.needs.state.insert(key)
                matches.answers.append(place)
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
            known.removeAll(keepingCapacity: true)
            // By index: an enumeration would copy the tables of each path.
            for number in rules.paths.indices {
                guard let value = frame.read(rules.paths[number].reader, near: &members[number]),
                    let found = rules.paths[number][value]
                else { continue }
                candidates += found
                if let slot = rules.paths[number].slot { known.append((slot, value)) }
            }
            let mayEnd = !rules.waiting.isEmpty && type != .scheduleDue
            if candidates.isEmpty, !mayEnd { continue }
            candidates.sort()
            activation.begin(frame)
            if mayEnd { endWaits(of: rules.waiting, except: candidates, at: place) }
            for (slot, value) in known { activation.set(slot, to: value) }
            for rule in candidates {
                if RuleBook.isCancelled(after: work) { return matches.end(before: place) }
                activation.workLeft = RuleBook.workPerRun
                if let fits = isFor(rule, at: place) { judge(Matches.Run(place: place, rule: rule, fits: fits)) }
                work += RuleBook.workPerRun - activation.workLeft
            }
        }
    }

    /// Evaluates the condition, and records the run unless the condition does not hold: then the event may end a wait, if the
    /// rule waits.
    private mutating func judge(_ run: Matches.Run) {
        let rule = book.compiled[run.rule]
        if let pattern = rule.time.pattern { return judge(run, pattern, rule) }
        var run = run
        if let condition = rule.condition, rule.time.each == nil {
            if condition.needs.isEmpty {
                run.condition = rule.judge(activation)
            } else if isRuledOut(condition) {
                run.condition = .doesNotHold
            }
        } else if rule.time.each == nil {
            run.condition = .holds
        }
        switch run.condition {
        case .doesNotHold where rule.time.hold == nil: return
        case .doesNotHold where rule.watchesAllEvents: end(run, rule)
        case .failed where rule.time.hold == nil: matches.runs.append(run)
        default: note(run, of: rule)
        }
    }

    /// Records that the event may end waits of these rules. Skips the candidates, whose conditions are evaluated anyway.
    private mutating func endWaits(of rules: [Int], except candidates: [Int], at place: Int) {
        let event = events[place].event
        if source?.name != event.source { source = (event.source, frame.facts.isConfigured(event.source)) }
        var ended: [Int] = []
        var next = 0
        for number in rules {
            while next < candidates.count, candidates[next] < number { next += 1 }
            if next < candidates.count, candidates[next] == number { continue }
            let rule = book.compiled[number]
            guard rule.sources.isEmpty || rule.sources.contains(event.source) else { continue }
            if source?.isConfigured == false, isFor(number, at: place) != true { continue }
            guard events[place].sequence > start(of: number) else { continue }
            // The rules that wait by the task's id wait for the same key.
            if rule.time.hold?.by == nil, event.type != .taskRemoved {
                ended.append(number)
            } else {
                end(Matches.Run(place: place, rule: number, fits: false, condition: .doesNotHold), rule)
            }
        }
        guard let first = ended.first, let hold = book.compiled[first].time.hold else { return }
        if let id = book.compiled[first].holdID(hold, frame, activation) {
            // Most events may end the waits of the same rules: these share one list.
            if let last = matches.endings.last?.rules, last == ended { ended = last }
            matches.endings.append(Matches.Ending(place: place, rules: ended, wait: id))
        } else {
            for number in ended {
                end(Matches.Run(place: place, rule: number, fits: false, condition: .doesNotHold), book.compiled[number])
            }
        }
    }

    /// Notes that the event may end a wait of the rule.
    private mutating func end(_ run: Matches.Run, _ rule: Rule) {
        guard let hold = rule.time.hold else { return }
        // The removal of a task ends only a wait that began with it.
        if events[run.place].event.type == .taskRemoved { return note(run, of: rule) }
        if let id = rule.holdID(hold, frame, activation) {
            matches.endings.append(Matches.Ending(place: run.place, rules: [run.rule], wait: id))
        } else {
            // If `on` names the event, deciding reports that the key has no value.
            var run = run
            run.fits = isFor(run.rule, at: run.place) == true
            note(run, of: rule)
        }
    }

    /// The place after which a rule sees events.
    private mutating func start(of number: Int) -> Int64 {
        if let start = starts[number] { return start }
        let start = since[book.compiled[number].name] ?? .min
        starts[number] = start
        return start
    }

    /// Records the run, unless the event fits no entry of the pattern and ends no wait.
    private mutating func judge(_ run: Matches.Run, _ pattern: Pattern, _ rule: Rule) {
        let event = events[run.place].event
        if let condition = rule.condition, rule.beginsOnly(with: event.type), isRuledOut(condition) { return }
        let isEnd = event.type == .taskRemoved && (pattern.endsWithTask || rule.time.hold != nil)
        func mayFit(_ entry: Pattern.Entry) -> Bool {
            guard entry.accepts(event) else { return false }
            guard let condition = entry.condition, condition.needs.isEmpty else { return true }
            switch condition.program.verdict(activation) {
            case .yes, .failed: return true
            case .no, .unknown: return false
            }
        }
        let mayFit = pattern.entries.contains(where: mayFit) || pattern.after.contains(where: mayFit)
        guard mayFit || isEnd || rule.time.hold != nil else { return }
        if mayFit, let by = pattern.by {
            var stop: Stop?
            if let key = RunKeys.key(by, "`by`", activation, &stop) {
                matches.needs.state.insert(rule.stateKey(pattern.state, key))
            }
        } else if mayFit {
            matches.needs.state.insert(rule.stateKey(pattern.state, ""))
        }
        if !pattern.needs.isEmpty { matches.needs.scopes.formUnion(rule.scopes(for: pattern.needs)) }
        matches.runs.append(run)
    }

    /// Whether the event, judged by `on` and `from` alone, makes the rule run (true), or may only end a wait of it (false); nil if
    /// it does not concern the rule.
    private mutating func isFor(_ number: Int, at place: Int) -> Bool? {
        let rule = book.compiled[number]
        let event = events[place].event
        let fits = rule.isFor(event)
        guard fits || (rule.watches(event) && frame.facts.isConfigured(event.source)) else { return nil }
        return events[place].sequence > start(of: number) ? fits : nil
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
        if rule.time.isEmpty {
            run.keys = RunKeys(rule, frame, activation)
            matches.needs.state.formUnion(run.keys.stateKeys(of: rule))
        } else if let hold = rule.time.hold, rule.time.each == nil {
            if hold.needsBegun, let task = frame.reference, events[run.place].event.type == .taskRemoved {
                matches.needs.state.insert(rule.begunKey(source: frame.source, task.key))
                matches.runs.append(run)
                return
            }
            // An event without the key has no effect, unless `on` names it: then deciding reports the error.
            if let id = rule.holdID(hold, frame, activation) {
                matches.needs.state.insert(rule.stateKey(.hold, id))
            } else if !run.fits {
                return
            }
        }
        if let escalation = rule.escalation, rule.time.isEmpty, let task = frame.reference {
            matches.needs.state.insert(.escalations(of: task.key, in: frame.source))
            matches.needs.state.insert(escalation.key(of: rule))
        }
        if rule.readsDigest {
            matches.starts[run.rule] = start(of: run.rule)
            matches.needs.state.insert(rule.digestKey)
        }
        if !rule.isShadow(for: frame) {
            let targets = WriteTargets(frame: frame, activation: activation, zone: rule.zone)
            for step in rule.steps {
                let target = step.action.effect == .writes ? try? targets.target(of: step) : targets.unseen(by: step)
                if let target { matches.needs.state.insert(rule.budgetKey(target)) }
            }
        }
        var needs = rule.stepNeeds.union(rule.time.each.map { $0.needs.union(.tasks) } ?? [])
        if run.condition == nil { needs.formUnion(rule.condition?.needs ?? []) }
        if !needs.isEmpty { matches.needs.scopes.formUnion(rule.scopes(for: needs)) }
        matches.runs.append(run)
    }
}
