import BellhopCore
import CEL

/// The parts of a rule that wait, count or gather, in their order: `each`, `for`, `count`, `group`.
extension BatchDecider {
    /// Begins with an event of the batch, at which the frame stands.
    mutating func begin(_ run: Matches.Run, _ rule: Rule) {
        guard isReady(rule) else { return }
        let event = matches.events[run.place]
        var candidate = Candidate(
            rule: run.rule, occasion: .event(event.event.id), time: event.event.time, source: event.event.source,
            subject: event.event.subject)
        candidate.gathered = [Gathered(candidate, event: event.sequence, task: frame.reference?.key)]
        if let each = rule.time.each { return begin(each, of: candidate, rule) }
        let condition = run.condition ?? rule.judge(activation)
        if let hold = rule.time.hold { return wait(hold, candidate, rule, condition, fits: run.fits) }
        go(candidate, rule, condition)
    }

    /// Whether the tasks that the rule reads are known.
    private mutating func isReady(_ rule: Rule) -> Bool {
        let unknown = rule.scopesRead.filter { !facts.isKnown($0) }
        needs.scopes.formUnion(unknown)
        return unknown.isEmpty
    }

    /// Takes the run on, as the condition says, to the parts after `for`.
    private mutating func go(_ candidate: Candidate, _ rule: Rule, _ condition: Matches.Condition) {
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
            since: candidate.since, task: candidate.task)
        var isComplete = true
        for gathered in candidate.gathered {
            guard let place = gathered.event else { continue }
            if let element = gathered.element { context.elements[context.events.count] = (gathered.source, element) }
            switch event(at: place) {
            case .found(let event), .departed(let event): context.events.append(event)
            // Events that rules still need are not pruned; another program may have deleted it.
            case .missing: context.elements[context.events.count] = nil
            case .unread:
                needs.events.insert(place)
                isComplete = false
            }
        }
        guard isComplete else { return false }
        context.event = context.events.indices.last
        frame.move(to: context)
        activation.begin(frame)
        return true
    }

    private func event(at place: Int64) -> RoutingFacts.Known<StoredEvent> {
        var (low, high) = (0, matches.events.count)
        while low < high {
            let middle = (low + high) / 2
            if matches.events[middle].sequence < place { low = middle + 1 } else { high = middle }
        }
        if low < matches.events.count, matches.events[low].sequence == place { return .found(matches.events[low]) }
        return facts.event(at: place)
    }

    // MARK: each

    /// Takes each element of the list on. Waits for elements that are no longer in the list end.
    private mutating func begin(_ each: RuleExpression, of candidate: Candidate, _ rule: Rule) {
        guard let elements = elements(each, candidate.rule) else { return }
        var waits = rule.time.hold == nil ? [:] : memory.window(rule.stateKey(.hold, ""))
        for element in elements {
            renewWork()
            var own = candidate
            own.take(element, subject: book.facts.subject(of: element.snapshot.key, in: element.source))
            guard move(to: own) else { continue }
            let condition = rule.judge(activation)
            if let hold = rule.time.hold {
                if let id = rule.holdID(hold, frame, activation) { waits[id] = nil }
                wait(hold, own, rule, condition, fits: true)
            } else {
                go(own, rule, condition)
            }
        }
        for id in waits.keys.sorted() { end(rule.stateKey(.hold, "").at(id), id, candidate.rule) }
    }

    /// The first elements of the list, as many as one run may have; nil, with the reason recorded, if the expression fails.
    private mutating func elements(_ each: RuleExpression, _ number: Int) -> [TaskObject]? {
        do throws(EvaluationError) {
            guard case .list(let list) = try each.program.evaluate(activation) else { return [] }
            if list.count > Self.mostElements {
                count(
                    error: "`each` has \(list.count) tasks; the rule runs for the first \(Self.mostElements) of them", of: number)
            }
            var known: Set<String> = []
            return (0..<min(list.count, Self.mostElements)).compactMap { place in
                guard case .object(let object) = list[place], let task = object as? TaskObject, known.insert(task.name).inserted
                else { return nil }
                return task
            }
        } catch {
            record(.failed(.conditionFailed, "`each` failed: \(error.message)"), of: number)
            return nil
        }
    }

    private static let mostElements = 10_000

    // MARK: for

    /// Begins a wait, lets it continue, or ends it, as the condition says.
    private mutating func wait(
        _ hold: TimeParts.Hold, _ candidate: Candidate, _ rule: Rule, _ condition: Matches.Condition, fits: Bool
    ) {
        guard let id = rule.holdID(hold, frame, activation) else {
            if fits { record(.failed(.keyFailed, "`by` of `for` has no value"), of: candidate.rule) }
            return
        }
        let key = rule.holdKey(id)
        guard memory.isKnown(key) else { return }
        let wait = memory.value(key).flatMap(Wait.init)
        if frame.event?.type == .taskRemoved {
            if let wait, wait.began.task == candidate.gathered.first?.task { end(key, id, candidate.rule) }
            return
        }
        switch condition {
        case .holds:
            guard wait == nil, fits, let began = candidate.gathered.first else { return }
            guard let due = hold.span.end(from: candidate.time) else {
                return record(.failed(.keyFailed, hold.span.neverEnds), of: candidate.rule)
            }
            memory.set(key, to: Wait(began: began, due: due).json)
            noteWait(candidate.rule, for: id)
            timers.append(.set(RuleTimer(RuleTimer.ID(rule: rule.name, kind: .hold, key: id), due: due)))
            add(bytes: Self.gatheredBytes)
            record(Stop(verdict: .waiting, detail: ["key": .string(id), "until": .string(due.rfc3339)]), of: candidate.rule)
        case .failed(let stop):
            if fits || wait != nil { record(stop, of: candidate.rule) }
            if wait != nil { end(key, id, candidate.rule) }
        case .doesNotHold:
            if wait != nil { end(key, id, candidate.rule) }
        }
    }

    /// Ends a wait, if there is one, because the condition does not hold on an event of the batch.
    mutating func end(_ ending: Matches.Ending) {
        guard mayWait(ending.rule, for: ending.wait) else { return }
        let key = book.compiled[ending.rule].stateKey(.hold, ending.wait)
        guard memory.value(key) != nil else { return }
        frame.move(to: ending.place)
        end(key, ending.wait, ending.rule)
    }

    /// Begins waits for the tasks that are known already.
    mutating func beginExisting(_ timer: RuleTimer, _ number: Int) {
        let rule = book.compiled[number]
        guard let hold = rule.time.hold, hold.existing, rule.time.each == nil else { return }
        let unknown = rule.scopes.filter { !facts.isKnown($0) }
        needs.scopes.formUnion(unknown)
        guard unknown.isEmpty else { return }
        for source in book.facts.sources(of: rule) where timer.id.key.isEmpty || timer.id.key == source.name {
            for task in (facts.tasks[source.scope] ?? []).sorted(by: { $0.key.text < $1.key.text }) {
                var candidate = Candidate(
                    rule: number, occasion: .timer(timer.id, due: timer.due), time: timer.due, source: source.name,
                    subject: book.facts.subject(of: task.key, in: source.name), task: task)
                candidate.gathered = [Gathered(candidate, event: nil, task: task.key)]
                guard move(to: candidate) else { continue }
                wait(hold, candidate, rule, rule.judge(activation), fits: true)
            }
        }
    }

    /// Ends a wait whose condition no longer holds, and forgets that the rule ran for it.
    private mutating func end(_ key: StateKey, _ id: String, _ number: Int) {
        let rule = book.compiled[number]
        if let json = memory.value(key), Wait(json)?.hasRun == false {
            timers.append(.cancel(RuleTimer.ID(rule: rule.name, kind: .hold, key: id)))
            record(Stop(verdict: .cancelled, detail: ["key": .string(id)]), of: number)
        }
        memory.delete(key)
    }

    /// The condition has held for long enough, if it holds for the task as it is now.
    mutating func endHold(_ timer: RuleTimer, _ number: Int) {
        let rule = book.compiled[number]
        let key = rule.holdKey(timer.id.key)
        guard let hold = rule.time.hold, isReady(rule), memory.isKnown(key),
            var wait = memory.value(key).flatMap(Wait.init), !wait.hasRun, wait.due == timer.due
        else { return }
        var candidate = Candidate(
            rule: number, occasion: .timer(timer.id, due: timer.due, begun: wait.began.event), time: timer.due,
            source: wait.began.source, subject: wait.began.subject, gathered: [wait.began])
        candidate.gathered[0].name = candidate.occasion.id.text
        candidate.key = String(timer.id.key.drop { $0 != "/" }.dropFirst())
        candidate.since = wait.began.at
        var (isGone, isUnread) = (false, false)
        if let id = wait.began.task, let scope = book.facts.scope(of: candidate.source) {
            switch facts.task(id, in: scope) {
            case .found(let task): candidate.task = task
            case .departed, .missing: isGone = true
            case .unread:
                needs.tasks[scope, default: []].insert(id)
                isUnread = true
            }
        }
        // The event that began it is read together with the task.
        guard move(to: candidate), !isUnread else { return }
        var condition = isGone ? .doesNotHold : rule.judge(activation)
        if rule.holdID(hold, frame, activation) != timer.id.key { condition = .doesNotHold }
        if let each = rule.time.each, case .holds = condition, let task = wait.began.task {
            // The tasks are the same for the whole batch.
            let names = listed[number] ?? Set(elements(each, number)?.map(\.name) ?? [])
            listed[number] = names
            if !names.contains("\(candidate.source)/\(task.text)") { condition = .doesNotHold }
        }
        switch condition {
        case .holds:
            wait.hasRun = true
            memory.set(key, to: wait.json)
            count(candidate, rule)
        case .doesNotHold:
            memory.delete(key)
            record(Stop(verdict: .notTrueWhenDue, detail: ["key": .string(timer.id.key)]), of: number)
        case .failed(let stop):
            memory.delete(key)
            record(stop, of: number)
        }
    }
}

extension TaskObject {
    /// Its name among the elements of lists.
    fileprivate var name: String { "\(source)/\(snapshot.key.text)" }
}

extension Candidate {
    /// Makes it the run for an element of a list.
    fileprivate mutating func take(_ element: TaskObject, subject: String) {
        guard case .event(let event) = occasion else { return }
        occasion = .element(of: event, key: element.name)
        (source, self.subject, task) = (element.source, subject, element.snapshot)
        gathered = gathered.map { Gathered(self, event: $0.event, task: element.snapshot.key, element: element.snapshot) }
    }
}

/// A wait of a rule for one key, as it is stored.
struct Wait {
    var began: Gathered
    var due: BellhopCore.Timestamp
    /// Whether the rule ran; it may wait again once the condition did not hold.
    var hasRun = false

    init(began: Gathered, due: BellhopCore.Timestamp) { (self.began, self.due) = (began, due) }

    init?(_ json: JSON) {
        guard let began = Gathered(name: "", json: json), let due = json["due"]?.asInt else { return nil }
        self.began = began
        self.due = Timestamp(microseconds: due)
        hasRun = json["ran"] == true
    }

    var json: JSON {
        guard case .object(var members) = began.json else { return began.json }
        members["due"] = .int(due.microseconds)
        if hasRun { members["ran"] = true }
        return .object(members)
    }
}
