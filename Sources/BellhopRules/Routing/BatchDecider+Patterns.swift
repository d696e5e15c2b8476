import BellhopCore
import CEL

/// The patterns `on: {all}`, `{sequence}` and `{none}`. A run must complete its pattern before the rule's own condition is evaluated.
extension BatchDecider {
    /// Handles the frame's current event in the pattern.
    mutating func take(_ candidate: Candidate, into pattern: Pattern, _ rule: Rule) {
        guard let event = frame.event else { return }
        let fitting = fits(pattern.entries, event, candidate.rule)
        if pattern.kind == .none { return takeIntoAbsence(candidate, pattern, isEnd: !fitting.isEmpty, event, rule) }
        if !fitting.isEmpty, let key = key(pattern.by, "`by`", candidate.rule) {
            let stateKey = rule.stateKey(.match, key)
            guard memory.isKnown(stateKey) else { return }
            if let events = complete(pattern, candidate, fitting, stateKey, key) {
                return run(candidate, for: events, key: pattern.by == nil ? nil : key, rule)
            }
        }
        if let hold = rule.time.hold { judgeWait(hold, candidate, rule) }
    }

    /// The places of the entries that an event fits.
    private mutating func fits(_ entries: [Pattern.Entry], _ event: Event, _ number: Int) -> [Int] {
        var places: [Int] = []
        for (place, entry) in entries.enumerated() where entry.accepts(event) {
            switch entry.condition?.program.verdict(activation) {
            case .yes, nil: places.append(place)
            case .no, .unknown: break
            case .failed(let error):
                record(.failed(.conditionFailed, "`when` of an event under `on` failed: \(error.message)"), of: number)
            }
        }
        return places
    }

    /// The events that complete the pattern together with this event, in the order of the list; their stored copies are deleted.
    /// Nil if events are still missing: this event is then stored.
    private mutating func complete(
        _ pattern: Pattern, _ candidate: Candidate, _ fitting: [Int], _ stateKey: StateKey, _ key: String
    ) -> [Gathered]? {
        guard var own = candidate.latest else { return nil }
        guard let end = pattern.within.end(from: own.at) else {
            record(.failed(.keyFailed, pattern.within.neverEnds), of: candidate.rule)
            return nil
        }
        var waiting = memory.gathered(stateKey).values.sorted(by: Gathered.isBefore)
        var (events, expires): ([Gathered], Timestamp)
        switch pattern.kind {
        case .all:
            dropLate(&waiting, pattern, stateKey, at: own.at)
            let byEntry = Dictionary(grouping: waiting) { $0.entry ?? 0 }
            own.entry = fitting.min { (byEntry[$0]?.count ?? 0, $0) < (byEntry[$1]?.count ?? 0, $1) }
            events = pattern.entries.indices.compactMap { byEntry[$0]?.first ?? ($0 == own.entry ? own : nil) }
            expires = end
        case .sequence:
            let sequences = dropLateSequences(&waiting, pattern, stateKey, at: own.at)
            if let incomplete = sequences.first(where: { fitting.contains($0.count) }) {
                (own.entry, own.part) = (incomplete.count, incomplete[0].name)
                events = incomplete + [own]
                expires = pattern.within.end(from: incomplete[0].at) ?? end
            } else if fitting.contains(0) {
                own.entry = 0
                events = [own]
                expires = end
            } else {
                return nil
            }
        case .none: return nil
        }
        let isComplete = events.count == pattern.entries.count
        if isComplete {
            for one in events where one.name != own.name {
                memory.delete(stateKey.at(one.name))
                record(.usedUp, one, of: pattern.kind.rawValue, key: key, by: own.name, rule: candidate.rule)
            }
            return events.map { one in
                var one = one
                one.part = nil
                return one
            }
        }
        memory.set(own, in: stateKey, expires: expires)
        bytes += Self.gatheredBytes
        bound(waiting, stateKey, candidate.rule)
        let arrived = pattern.kind == .all ? Set((waiting + [own]).compactMap(\.entry)).count : events.count
        record(
            .waiting,
            [
                "part": .string(pattern.kind.rawValue), "key": .string(key), "until": .string(expires.rfc3339),
                "come": .int(Int64(arrived)), "of": .int(Int64(pattern.entries.count)),
            ], of: candidate.rule)
        return nil
    }

    private mutating func dropLate(_ waiting: inout [Gathered], _ pattern: Pattern, _ stateKey: StateKey, at time: Timestamp) {
        var late: Set<String> = []
        for one in waiting where !(pattern.within.end(from: one.at).map { time < $0 } ?? false) { late.insert(one.name) }
        for name in late { memory.delete(stateKey.at(name)) }
        waiting.removeAll { late.contains($0.name) }
    }

    /// The incomplete sequences, the oldest first. Drops the sequences whose time is over.
    private mutating func dropLateSequences(
        _ waiting: inout [Gathered], _ pattern: Pattern, _ stateKey: StateKey, at time: Timestamp
    ) -> [[Gathered]] {
        let byFirst = Dictionary(grouping: waiting) { $0.part ?? $0.name }
        var sequences: [[Gathered]] = []
        var kept: Set<String> = []
        for (name, members) in byFirst {
            let events = members.sorted { ($0.entry ?? 0) < ($1.entry ?? 0) }
            let isWhole = events[0].name == name && events.enumerated().allSatisfy { $0 == $1.entry }
            if isWhole, let end = pattern.within.end(from: events[0].at), time < end {
                sequences.append(events)
                kept.formUnion(events.map(\.name))
            } else {
                for event in events { memory.delete(stateKey.at(event.name)) }
            }
        }
        waiting.removeAll { !kept.contains($0.name) }
        return sequences.sorted { Gathered.isBefore($0[0], $1[0]) }
    }

    /// Drops the oldest of too many events that wait under one key.
    private mutating func bound(_ waiting: [Gathered], _ stateKey: StateKey, _ number: Int) {
        guard waiting.count >= Pattern.maxWaiting, let oldest = waiting.first else { return }
        let name = oldest.part ?? oldest.name
        for one in waiting where one.name == name || one.part == name { memory.delete(stateKey.at(one.name)) }
        count(error: "more than \(Pattern.maxWaiting) events wait for others under one key; the oldest is dropped", of: number)
    }

    /// Goes on with the rule's own condition, for all events of the complete pattern.
    private mutating func run(_ candidate: Candidate, for events: [Gathered], key: String?, _ rule: Rule) {
        var own = candidate
        own.gathered = events
        own.own = events.firstIndex { $0.name == candidate.latest?.name }
        own.key = key
        // The first of a sequence may have a later time than the next, if the clock was set back.
        own.since = rule.time.pattern?.kind == .sequence ? events.first?.at : events.map(\.at).min()
        guard isReady(rule.scopesOfRuns), move(to: own) else { return }
        let condition = rule.judge(activation)
        if case .doesNotHold = condition {
            recordFalseCondition(.conditionFalse, key: key ?? "", of: own.rule)
        }
        if let hold = rule.time.hold { return wait(hold, own, rule, condition, fits: true) }
        proceed(own, rule, condition)
    }

    // MARK: none

    /// Ends an absence if its event came or its task left. Then begins an absence if the event fits an entry of `after`.
    private mutating func takeIntoAbsence(_ candidate: Candidate, _ pattern: Pattern, isEnd: Bool, _ event: Event, _ rule: Rule) {
        // A replayed event neither ends an absence nor restarts one.
        let isReplay = matches.replay != nil
        if isReplay, pattern.beginsByItself { return }
        let isEnd = isEnd && !isReplay
        if pattern.endsWithTask, event.type == .taskRemoved, !isReplay { endAbsences(candidate, pattern, rule) }
        let isBegin = !fits(pattern.after, event, candidate.rule).isEmpty
        guard isEnd || isBegin, let key = key(pattern.by, "`by`", candidate.rule) else { return }
        let stateKey = rule.stateKey(.absence, key)
        guard memory.isKnown(stateKey) else { return }
        if isEnd { endAbsence(stateKey, key, isRecorded: !pattern.beginsByItself, pattern, candidate.rule) }
        if pattern.beginsByItself {
            beginSourceAbsence(pattern, of: event.source, key, from: candidate, rule)
        } else if isBegin, let wait = memory.wait(stateKey) {
            recordUnderWay(wait, of: "none", key: key, rule: candidate.rule)
        } else if isBegin, let began = candidate.latest {
            var own = candidate
            (own.key, own.since) = (pattern.by == nil ? nil : key, candidate.time)
            guard isReady(rule.scopesOfRuns), move(to: own) else { return }
            switch rule.judge(activation) {
            case .holds: begin(pattern, Absence(key: key, began: began), at: candidate.time, rule, candidate.rule)
            case .doesNotHold:
                // A condition that reads only the event needs no record: it is explained from the rule's text.
                if let needs = rule.condition?.needs, !needs.isSubset(of: .gathered) {
                    recordFalseCondition(.conditionFalse, key: key, of: candidate.rule)
                }
            case .failed(let stop): record(stop, of: candidate.rule)
            }
        }
    }

    private struct Absence {
        var key: String
        var began: Gathered
        /// The place on the bus of the last event before the absence, if the absence begins without `after`.
        var after: Int64?
    }

    private mutating func begin(
        _ pattern: Pattern, _ absence: Absence, at time: Timestamp, isRecorded: Bool = true, _ rule: Rule, _ number: Int
    ) {
        guard let due = pattern.within.end(from: time) else {
            return record(.failed(.keyFailed, pattern.within.neverEnds), of: number)
        }
        var wait = Wait(began: absence.began, due: due)
        wait.after = absence.after
        memory.set(rule.stateKey(.absence, absence.key), to: wait.json)
        if pattern.needsBegun { remember(absence.began, as: absence.key, rule) }
        var payload: JSON.Object = ["source": .string(absence.began.source)]
        payload["after"] = absence.after.map(JSON.int)
        set(RuleTimer(RuleTimer.ID(rule: rule.name, kind: .absence, key: absence.key), due: due, payload: payload), at: time)
        bytes += Self.gatheredBytes
        guard isRecorded else { return }
        var detail: JSON.Object = ["part": "none", "key": .string(absence.key), "until": .string(due.rfc3339)]
        detail["place"] = absence.began.event.map(JSON.int)
        record(.waiting, detail, of: number)
    }

    /// Restarts an absence that begins without `after`, for one source or for all sources. Its run has no event.
    private mutating func beginSourceAbsence(
        _ pattern: Pattern, of source: String, _ key: String, from cause: Candidate, _ rule: Rule
    ) {
        var run = cause
        run.source = pattern.isBySource ? source : ""
        run.subject = run.source.isEmpty ? rule.name : source
        let absence = Absence(key: key, began: Gathered(run, event: nil, task: nil), after: cause.latest?.event)
        begin(pattern, absence, at: cause.time, isRecorded: false, rule, cause.rule)
    }

    /// Begins the absences without `after` when the rule is loaded or a source has its baseline, except those that wait already.
    mutating func begin(_ pattern: Pattern, _ timer: RuleTimer, _ rule: Rule, _ number: Int) {
        let sources = pattern.watched.filter { timer.id.key.isEmpty || $0 == timer.id.key }
        let keys = pattern.isBySource ? sources : timer.id.key.isEmpty ? [""] : []
        for key in keys {
            let stateKey = rule.stateKey(.absence, key)
            guard memory.isKnown(stateKey) else { continue }
            guard memory.value(stateKey) == nil else { continue }
            let cause = Candidate(
                rule: number, occasion: .timer(timer.id, due: timer.due), time: timer.due, source: key, subject: key)
            beginSourceAbsence(pattern, of: key, key, from: cause, rule)
        }
    }

    /// Ends all absences that a leaving task has begun, under any key.
    private mutating func endAbsences(_ candidate: Candidate, _ pattern: Pattern, _ rule: Rule) {
        guard let task = candidate.latest?.task else { return }
        let keys =
            pattern.needsBegun ? begun(by: task, of: candidate.source, rule) : [pattern.by == nil ? "" : task.text]
        for key in keys {
            let stateKey = rule.stateKey(.absence, key)
            guard memory.isKnown(stateKey), let wait = memory.wait(stateKey), wait.began.task == task,
                wait.began.source == candidate.source
            else { continue }
            endAbsence(stateKey, key, isRecorded: true, pattern, candidate.rule)
        }
    }

    private mutating func endAbsence(
        _ stateKey: StateKey, _ key: String, isRecorded: Bool, _ pattern: Pattern, _ number: Int
    ) {
        guard let wait = memory.wait(stateKey) else { return }
        let rule = book.compiled[number]
        if pattern.needsBegun { forget(wait.began, as: key, rule) }
        memory.delete(stateKey)
        cancel(RuleTimer.ID(rule: rule.name, kind: .absence, key: key))
        guard isRecorded else { return }
        record(.cancelled, ["part": "none", "key": .string(key)], of: number)
        record(.endedEarly, wait.began, of: "none", key: key, by: frame.occasion.id.text, rule: number)
    }

    /// Ends an absence at its due time and runs the rule, because no event of `none` has come.
    mutating func endAbsence(_ timer: RuleTimer, _ number: Int) {
        let rule = book.compiled[number]
        let (key, stateKey) = (timer.id.key, rule.stateKey(.absence, timer.id.key))
        guard let pattern = rule.time.pattern, pattern.kind == .none, isReady(rule.scopesOfRuns), memory.isKnown(stateKey),
            var wait = memory.wait(stateKey), let due = recomputedEnd(timer, &wait, pattern.within, stateKey, number)
        else { return }
        if pattern.needsBegun { forget(wait.began, as: key, rule) }
        memory.delete(stateKey)
        // The absence of a source that was removed from bellhop.yaml starts no run.
        if pattern.isBySource, pattern.beginsByItself, !pattern.watched.isEmpty, !pattern.watched.contains(key) { return }
        var candidate = Candidate(
            rule: number, occasion: .timer(timer.id, due: due, wait.beginning), time: due, source: wait.began.source,
            subject: wait.began.subject, gathered: [wait.began])
        candidate.gathered[0].name = candidate.occasion.id.text
        (candidate.key, candidate.since) = (pattern.by == nil ? nil : key, wait.began.at)
        switch present(wait.began.task, in: candidate.source) {
        // An event of a task that left may begin an absence; otherwise the departure has ended it.
        case .found(let task)?, .departed(let task)?: candidate.task = task
        case .unread?: return
        case .missing?, nil: break
        }
        guard move(to: candidate) else { return }
        if let stop = removedSource(of: wait.began, .conditionFailed, "the wait of `none`") { return record(stop, of: number) }
        switch rule.judge(activation) {
        case .holds: count(candidate, rule)
        case .doesNotHold: recordFalseCondition(.notTrueWhenDue, key: key, of: number)
        case .failed(let stop): record(stop, of: number)
        }
    }
}
