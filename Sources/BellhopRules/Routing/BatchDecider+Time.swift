import BellhopCore
import CEL

/// The parts of a rule that wait, in their order: `all`, `sequence` or `none`, `each`, `for`.
extension BatchDecider {
    /// Begins the run for the frame's current event.
    mutating func begin(_ run: Matches.Run, _ rule: Rule) {
        guard isReady(rule.time.pattern.map { rule.scopes(for: $0.needs) } ?? rule.scopesOfRuns) else { return }
        let event = matches.events[run.place]
        var candidate = Candidate(
            rule: run.rule, occasion: matches.replay?.occasion ?? .event(event.event.id),
            // A wait that a replay begins is counted from the time of the replay.
            time: matches.replay?.at ?? event.event.time, source: event.event.source, subject: event.event.subject)
        candidate.gathered = [Gathered(candidate, event: event.sequence, task: frame.reference?.key)]
        if let pattern = rule.time.pattern { return take(candidate, into: pattern, rule) }
        if let each = rule.time.each { return begin(each, of: candidate, rule) }
        let condition = run.condition ?? rule.judge(activation)
        // A replayed event ends no wait.
        if matches.replay != nil, case .doesNotHold = condition { return }
        if let hold = rule.time.hold { return wait(hold, candidate, rule, condition, fits: run.fits) }
        proceed(candidate, rule, condition)
    }

    /// Whether all tasks of these scopes are known.
    mutating func isReady(_ scopes: [Scope.ID]) -> Bool {
        let unknown = scopes.filter { !facts.isKnown($0) }
        needs.scopes.formUnion(unknown)
        return unknown.isEmpty
    }

    /// Passes the run on to the parts after `for`, if the condition allows it.
    mutating func proceed(_ candidate: Candidate, _ rule: Rule, _ condition: Matches.Condition) {
        switch condition {
        case .holds: count(candidate, rule)
        case .doesNotHold: break
        case .failed(let stop): record(stop, of: candidate.rule)
        }
    }

    /// Moves the frame to the run; false if one of its events must be read first.
    mutating func move(to candidate: Candidate) -> Bool {
        var context = RunContext(
            occasion: candidate.occasion, source: candidate.source, subject: candidate.subject, key: candidate.key,
            since: candidate.since, task: candidate.task, isAnswered: candidate.isAnswered)
        var isComplete = true
        context.hasSeparateEvent = candidate.hasSeparateEvent
        for (number, gathered) in candidate.gathered.enumerated() {
            guard let place = gathered.event else { continue }
            if let element = gathered.element { context.elements[context.events.count] = (gathered.source, element) }
            switch event(at: place) {
            case .found(let event), .departed(let event):
                if number == candidate.own { context.event = context.events.count }
                context.events.append(event)
            // Events that rules still need are not pruned; another program may have deleted it.
            case .missing: context.elements[context.events.count] = nil
            case .unread:
                needs.events.insert(place)
                isComplete = false
            }
        }
        guard isComplete else { return false }
        context.event = context.event ?? context.events.indices.last
        frame.move(to: context)
        activation.begin(frame)
        return true
    }

    func event(at place: Int64) -> RoutingFacts.Known<StoredEvent> {
        let index = matches.events.partitioningIndex { $0.sequence >= place }
        if index < matches.events.count, matches.events[index].sequence == place { return .found(matches.events[index]) }
        return facts.event(at: place)
    }

    /// Begins a run for each element of the list. Ends the waits for elements that are no longer in the list.
    private mutating func begin(_ each: RuleExpression, of candidate: Candidate, _ rule: Rule) {
        guard let elements = elements(each, candidate.rule) else { return }
        var waits = rule.time.hold == nil ? [:] : memory.window(rule.stateKey(.hold, ""))
        for element in elements {
            renewWork()
            endIfCancelled()
            if isCancelled { return }
            var own = candidate
            own.take(element, subject: book.facts.subject(of: element.snapshot.key, in: element.source))
            guard move(to: own) else { continue }
            let condition = rule.judge(activation)
            if let hold = rule.time.hold {
                if let id = rule.holdID(hold, frame, activation) { waits[rule.holdKey(id)] = nil }
                wait(hold, own, rule, condition, fits: true)
            } else {
                proceed(own, rule, condition)
            }
        }
        guard !waits.isEmpty, move(to: candidate) else { return }
        for wait in waits.keys.sorted(by: { $0.element < $1.element }) { end(wait, wait.element, candidate.rule) }
    }

    /// The first elements of the list, as many as one run may have; nil, with the reason recorded, if the expression fails.
    mutating func elements(_ each: RuleExpression, _ number: Int) -> [TaskObject]? {
        do throws(EvaluationError) {
            let (tasks, all) = try each.elements(activation, atMost: Self.maxElements)
            if all > Self.maxElements {
                count(error: "`each` has \(all) tasks; the rule runs for the first \(Self.maxElements) of them", of: number)
            }
            return tasks
        } catch {
            record(.failed(.conditionFailed, "`each` failed: \(error.message)"), of: number)
            return nil
        }
    }

    private static let maxElements = 10_000
}

extension RuleExpression {
    /// The different tasks among the first elements of the list that it gives, and the number of all elements.
    func elements(_ activation: Activation, atMost most: Int) throws(EvaluationError) -> (tasks: [TaskObject], all: Int) {
        guard case .list(let list) = try program.evaluate(activation) else { return ([], 0) }
        var known: Set<TaskObject.ID> = []
        let tasks = (0..<min(list.count, most)).compactMap { place -> TaskObject? in
            guard case .object(let object) = list[place], let task = object as? TaskObject, known.insert(task.id).inserted
            else { return nil }
            return task
        }
        return (tasks, list.count)
    }
}

extension RunFrame {
    /// Moves to the run for an element of the list that a rule goes through at this event.
    func move(to element: TaskObject, of event: StoredEvent) {
        move(
            to: RunContext(
                occasion: .element(of: event.event.id, key: element.name), source: element.source,
                subject: facts.subject(of: element.snapshot.key, in: element.source), events: [event],
                elements: [0: (element.source, element.snapshot)], event: 0, task: element.snapshot))
    }
}

extension TaskObject {
    struct ID: Hashable {
        var source: String
        var key: TaskKey
    }

    var id: ID { ID(source: source, key: snapshot.key) }

    /// Its name among the elements of lists.
    var name: String { "\(source)/\(snapshot.key.text)" }
}

extension Candidate {
    /// Makes it the run for an element of a list.
    fileprivate mutating func take(_ element: TaskObject, subject: String) {
        switch occasion {
        case .event(let event): occasion = .element(of: event, key: element.name)
        case .replay(let event, let at): occasion = .element(of: event, key: "\(element.name)/\(at.microseconds)")
        case .timer, .element, .escalation, .escalationEnd: return
        }
        (source, self.subject, task) = (element.source, subject, element.snapshot)
        gathered = gathered.map { Gathered(self, event: $0.event, task: element.snapshot.key, element: element.snapshot) }
    }
}
