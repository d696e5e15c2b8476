import BellhopCore

/// The waits of `for`.
extension BatchDecider {
    /// Begins a wait, lets it continue, or ends it, as the condition says.
    mutating func wait(
        _ hold: TimeParts.Hold, _ candidate: Candidate, _ rule: Rule, _ condition: Matches.Condition, fits: Bool
    ) {
        if frame.event?.type == .taskRemoved { return endWaits(of: hold, candidate, rule) }
        guard let id = rule.holdID(hold, frame, activation) else {
            // Without a key there is no wait to end.
            switch condition {
            case .holds: if fits { record(.failed(.keyFailed, "`by` of `for` has no value"), of: candidate.rule) }
            case .failed(let stop): if fits { record(stop, of: candidate.rule) }
            case .doesNotHold: break
            }
            return
        }
        let key = rule.holdKey(id)
        guard memory.isKnown(key) else { return }
        let wait = memory.wait(key)
        switch condition {
        case .holds:
            guard fits, let began = candidate.latest else { return }
            if let wait { return recordUnderWay(wait, of: "for", key: id, rule: candidate.rule) }
            guard let due = hold.span.end(from: candidate.time) else {
                return record(.failed(.keyFailed, hold.span.neverEnds), of: candidate.rule)
            }
            memory.set(key, to: Wait(began: began, due: due).json)
            noteWait(candidate.rule, for: id)
            for part in candidate.gathered where part.name != began.name { memory.set(key.at(part.name), to: part.json) }
            if hold.needsBegun { remember(began, as: id, rule) }
            set(RuleTimer(RuleTimer.ID(rule: rule.name, kind: .hold, key: id), due: due), at: candidate.time)
            bytes += Self.gatheredBytes * candidate.gathered.count
            var detail: JSON.Object = ["part": "for", "key": .string(id), "until": .string(due.rfc3339)]
            detail["place"] = began.event.map(JSON.int)
            record(.waiting, detail, of: candidate.rule)
        case .failed(let stop):
            if fits || wait != nil { record(stop, of: candidate.rule) }
            if wait != nil { end(key, id, candidate.rule) }
        case .doesNotHold: if wait != nil { end(key, id, candidate.rule) }
        }
    }

    /// Ends a wait, if there is one, because the condition does not hold on an event of the batch.
    mutating func end(_ ending: Matches.Ending) {
        guard let waiting = mayWait(for: ending.wait) else { return }
        for rule in ending.rules where waiting.contains(rule) {
            let key = book.compiled[rule].stateKey(.hold, ending.wait)
            guard memory.value(key) != nil else { continue }
            frame.move(to: ending.place)
            end(key, ending.wait, rule)
        }
    }

    /// Begins the waits that begin with the rule.
    mutating func beginByItself(_ timer: RuleTimer, _ number: Int) {
        let rule = book.compiled[number]
        if let pattern = rule.time.pattern, pattern.beginsByItself { return begin(pattern, timer, rule, number) }
        beginExisting(timer, rule, number)
    }

    /// Begins waits for the tasks that are known already. If one transaction is full, sets the timer again for the rest.
    private mutating func beginExisting(_ timer: RuleTimer, _ rule: Rule, _ number: Int) {
        guard let hold = rule.time.hold, hold.existing, rule.time.each == nil, isReady(rule.scopes) else { return }
        var done = timer.payload["done"]
        let last = (done?["source"]?.asString ?? "", done?["task"]?.asString ?? "")
        // By name, because bellhop.yaml may have other sources, or another order, at the next transaction. A source that is new or
        // renamed has a timer of its own.
        let sources = book.facts.sources(of: rule).filter { timer.id.key.isEmpty || timer.id.key == $0.name }
        for source in sources.sorted(by: { $0.name < $1.name }) where source.name >= last.0 {
            let tasks = (facts.tasks[source.scope] ?? []).sorted { $0.key.text < $1.key.text }
            for task in tasks where (source.name, task.key.text) > last {
                renewWork(upTo: .max)
                endIfCancelled()
                if isCancelled { return }
                if isFull, let done { return set(RuleTimer(timer.id, due: timer.due, payload: ["done": done]), at: timer.due) }
                done = ["source": .string(source.name), "task": .string(task.key.text)]
                var candidate = Candidate(
                    rule: number, occasion: .timer(timer.id, due: timer.due), time: timer.due, source: source.name,
                    subject: book.facts.subject(of: task.key, in: source.name), task: task)
                candidate.gathered = [Gathered(candidate, event: nil, task: task.key)]
                guard move(to: candidate) else { continue }
                wait(hold, candidate, rule, rule.judge(activation), fits: true)
            }
        }
    }

    /// Ends all waits that a leaving task has begun, under any key.
    private mutating func endWaits(of hold: TimeParts.Hold, _ candidate: Candidate, _ rule: Rule) {
        guard let task = candidate.latest?.task else { return }
        let ids =
            hold.needsBegun ? begun(by: task, of: candidate.source, rule) : ["\(candidate.source)/\(task.text)"]
        for id in ids {
            let key = rule.holdKey(id)
            guard memory.isKnown(key), let wait = memory.wait(key), wait.began.task == task else { continue }
            end(key, id, candidate.rule, isGone: true)
        }
    }

    /// The keys of the waits or absences that a task began.
    mutating func begun(by task: TaskKey, of source: String, _ rule: Rule) -> [String] {
        let key = rule.begunKey(source: source, task)
        return memory.isKnown(key) ? memory.window(key).keys.map(\.element).sorted() : []
    }

    /// Remembers which wait or absence a task began, so that it is found when the task leaves.
    mutating func remember(_ began: Gathered, as id: String, _ rule: Rule) {
        guard let task = began.task else { return }
        memory.set(rule.begunKey(source: began.source, task).at(id), to: true)
    }

    mutating func forget(_ began: Gathered, as id: String, _ rule: Rule) {
        guard let task = began.task else { return }
        let key = rule.begunKey(source: began.source, task)
        if memory.isKnown(key) { memory.delete(key.at(id)) }
    }

    /// Ends a wait whose condition no longer holds, and forgets that the rule ran for it.
    mutating func end(_ key: StateKey, _ id: String, _ number: Int, isGone: Bool = false) {
        let rule = book.compiled[number]
        if let wait = memory.wait(key), !wait.hasRun {
            cancel(RuleTimer.ID(rule: rule.name, kind: .hold, key: id))
            var detail: JSON.Object = ["part": "for", "key": .string(id)]
            if isGone { detail["left"] = true }
            record(.cancelled, detail, of: number)
            record(.endedEarly, wait.began, of: "for", key: id, by: frame.occasion.id.text, rule: number)
        }
        forgetWait(key, id, rule)
    }

    private mutating func forgetWait(_ key: StateKey, _ id: String, _ rule: Rule) {
        if rule.time.hold?.needsBegun == true, let wait = memory.wait(key) {
            forget(wait.began, as: id, rule)
        }
        if rule.time.pattern != nil { for piece in memory.window(key).keys { memory.delete(piece) } }
        memory.delete(key)
    }

    /// The events that led to a wait, in the order of `on`, and the place of the one that began it.
    private mutating func events(of wait: Wait, _ key: StateKey, _ rule: Rule) -> (events: [Gathered], own: Int) {
        guard rule.time.pattern != nil else { return ([wait.began], 0) }
        let parts = memory.window(key).compactMap { Gathered(name: $0.element, json: $1) }.sorted {
            ($0.entry ?? 0) < ($1.entry ?? 0)
        }
        let own = parts.firstIndex { ($0.entry ?? 0) > (wait.began.entry ?? 0) } ?? parts.endIndex
        var events = parts
        events.insert(wait.began, at: own)
        return (events, own)
    }

    /// Judges the wait of a rule with `all` or `sequence` by an event that completes none: it ends if the condition no longer holds.
    mutating func judgeWait(_ hold: TimeParts.Hold, _ candidate: Candidate, _ rule: Rule) {
        if frame.event?.type == .taskRemoved { return endWaits(of: hold, candidate, rule) }
        guard let id = rule.holdID(hold, frame, activation) else { return }
        let key = rule.holdKey(id)
        guard memory.isKnown(key), let wait = memory.wait(key), isReady(rule.scopesOfRuns) else { return }
        var judged = candidate
        judged.gathered = events(of: wait, key, rule).events + candidate.gathered
        (judged.hasSeparateEvent, judged.key, judged.since) = (true, Self.key(of: id), wait.began.at)
        guard move(to: judged) else { return }
        self.wait(hold, candidate, rule, rule.judge(activation), fits: false)
    }

    /// The key of a wait without its source.
    private static func key(of id: String) -> String { id.dividedAtSlashes(into: 2)?[1] ?? "" }

    /// The end of the wait of a due timer; nil if the wait has not ended yet.
    ///
    /// After a change of its calendar the timer comes due early, so that the end is computed again: if it is later, this stores the
    /// wait and sets its timer; if there is none any more, this records the failure and deletes the wait.
    mutating func recomputedEnd(
        _ timer: RuleTimer, _ wait: inout Wait, _ span: Span, _ key: StateKey, _ number: Int
    ) -> Timestamp? {
        guard timer.isRecomputed else { return wait.due == timer.due ? timer.due : nil }
        guard let end = span.end(from: wait.began.at) else {
            record(
                .failed(.keyFailed, span.neverEnds), of: number, for: Occasion.timer(timer.id, due: timer.due, wait.beginning).id)
            memory.delete(key)
            return nil
        }
        wait.due = end
        if end <= timer.due { return end }
        memory.set(key, to: wait.json)
        var payload = timer.payload
        payload["again"] = nil
        set(RuleTimer(timer.id, due: end, payload: payload), at: timer.due)
        return nil
    }

    /// Ends the wait at its due time, and runs the rule if the condition holds for the current task. If the rule ran for it already, forgets
    /// this if the condition does not hold any more: the rule was paused, and did not see the events that would have ended the wait.
    mutating func endHold(_ timer: RuleTimer, _ number: Int) {
        let rule = book.compiled[number]
        let key = rule.holdKey(timer.id.key)
        guard let hold = rule.time.hold, isReady(rule.scopesOfRuns), memory.isKnown(key), var wait = memory.wait(key),
            let due = wait.hasRun ? timer.due : recomputedEnd(timer, &wait, hold.span, key, number)
        else { return }
        let (events, own) = events(of: wait, key, rule)
        var candidate = Candidate(
            rule: number, occasion: .timer(timer.id, due: due, wait.beginning),
            time: due, source: wait.began.source, subject: wait.began.subject, gathered: events, own: own)
        candidate.gathered[own].name = candidate.occasion.id.text
        candidate.key = Self.key(of: timer.id.key)
        candidate.since = wait.began.at
        var (isGone, isUnread) = (false, false)
        switch present(wait.began.task, in: candidate.source) {
        case .found(let task)?: candidate.task = task
        case .departed?, .missing?: isGone = true
        case .unread?: isUnread = true
        case nil: break
        }
        // The event that began it is read together with the task.
        guard move(to: candidate), !isUnread else { return }
        var condition = isGone ? .doesNotHold : rule.judge(activation)
        if rule.holdID(hold, frame, activation) != timer.id.key { condition = .doesNotHold }
        if let each = rule.time.each, case .holds = condition, let task = wait.began.task {
            // The tasks are the same for the whole batch.
            let tasks = listed[number] ?? Set(elements(each, number)?.map(\.id) ?? [])
            listed[number] = tasks
            if !tasks.contains(TaskObject.ID(source: candidate.source, key: task)) { condition = .doesNotHold }
        }
        if let stop = removedSource(of: wait.began, .conditionFailed, "the wait of `for`") {
            condition = wait.hasRun ? .doesNotHold : .failed(stop)
        }
        switch condition {
        case .holds:
            if wait.hasRun { return }
            wait.hasRun = true
            memory.set(key, to: wait.json)
            count(candidate, rule)
        case .doesNotHold:
            forgetWait(key, timer.id.key, rule)
            if !wait.hasRun { record(.notTrueWhenDue, ["key": .string(timer.id.key)], of: number) }
        case .failed(let stop):
            forgetWait(key, timer.id.key, rule)
            record(stop, of: number)
        }
    }
}
