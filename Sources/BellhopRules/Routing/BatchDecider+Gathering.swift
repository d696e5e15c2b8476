import BellhopCore
import CEL

/// `count` and `group`, and the run after them.
extension BatchDecider {
    // MARK: count

    /// Counts the run, and goes on with it once there are enough.
    mutating func count(_ candidate: Candidate, _ rule: Rule) {
        guard let count = rule.time.count else { return gather(candidate, rule) }
        guard move(to: candidate), let key = key(count.by, "`by` of `count`", candidate.rule) else { return }
        let stateKey = rule.stateKey(.count, key)
        guard memory.isKnown(stateKey) else { return }
        guard var own = candidate.latest else { return }
        if let distinct = count.distinct {
            guard let value = self.key(distinct, "`distinct`", candidate.rule) else { return }
            own.distinct = value
        }
        guard let end = count.within.end(from: candidate.time) else {
            return record(.failed(.keyFailed, count.within.neverEnds), of: candidate.rule)
        }
        own.at = candidate.time
        var counted: [Gathered] = []
        /// The other events of the runs that several events led to.
        var parts: [Gathered] = []
        var over: [String] = []
        for other in memory.gathered(stateKey).values {
            if other.part != nil {
                parts.append(other)
            } else if let over = count.within.end(from: other.at), candidate.time < over,
                own.distinct.map({ other.distinct?.hasBytes(of: $0) != true }) ?? true
            {
                counted.append(other)
            } else {
                over.append(other.name)
            }
        }
        for element in over { memory.delete(stateKey.at(element)) }
        let runs = parts.isEmpty ? [] : Set(counted.map(\.name))
        for part in parts where !runs.contains(part.part ?? "") { memory.delete(stateKey.at(part.name)) }
        parts.removeAll { !runs.contains($0.part ?? "") }
        var others = candidate.gathered.filter { $0.name != own.name }
        guard counted.count + 1 >= count.atLeast else {
            for place in others.indices { others[place].part = own.name }
            for one in others + [own] {
                memory.set(one, in: stateKey, expires: end)
                bytes += Self.gatheredBytes
            }
            return record(
                .counting,
                [
                    "key": .string(key), "counted": .int(Int64(counted.count + 1)), "of": .int(Int64(count.atLeast)),
                    "until": .string(end.rfc3339),
                ], of: candidate.rule)
        }
        for other in counted + parts { memory.delete(stateKey.at(other.name)) }
        for other in counted {
            record(.usedUp, other, of: "count", key: key, by: own.name, at: own.event, rule: candidate.rule)
        }
        var next = candidate
        next.gathered = (counted + parts + others + [own]).sorted(by: Gathered.isBefore)
        next.own = nil
        next.key = count.by == nil ? nil : key
        next.since = next.gathered.first?.at
        gather(next, rule)
    }

    // MARK: group

    /// Adds the run to its group, and flushes the group if it is full.
    private mutating func gather(_ candidate: Candidate, _ rule: Rule) {
        guard let group = rule.time.group else { return finish(candidate, rule) }
        guard move(to: candidate), let key = key(group.by, "`by` of `group`", candidate.rule) else { return }
        // With a canary, live tasks and tasks in shadow mode have separate groups.
        let groupKey = GroupKey(key, isShadow: rule.summary.mode.isCanary && rule.isShadow(for: frame)).text
        let (state, waiting) = (rule.stateKey(.group, groupKey), rule.stateKey(.gathered, groupKey))
        guard memory.isKnown(state), memory.isKnown(waiting) else { return }
        let last = memory.value(state).flatMap(\.asInt).map { Timestamp(microseconds: $0) }
        let before = memory.gathered(waiting).count
        if before == 0 {
            // After the clock was set back, a flush in the future does not count, as for `throttle`.
            let next = last.flatMap { $0 > now ? nil : $0 + group.every }
            let due = max(candidate.start(at: now) + group.wait, next ?? .distantPast)
            set(RuleTimer(RuleTimer.ID(rule: rule.name, kind: .group, key: groupKey), due: due), at: candidate.time)
        }
        for var one in candidate.gathered {
            (one.joined, one.part, one.entry) = (candidate.time, nil, nil)
            memory.set(one, in: waiting)
            bytes += Self.gatheredBytes
        }
        let count = before + candidate.gathered.count
        guard count >= group.max else {
            var detail: JSON.Object = ["key": .string(key), "gathered": .int(Int64(count))]
            if groupKey != key { detail["timer"] = .string(groupKey) }
            return record(.gathering, detail, of: candidate.rule)
        }
        cancel(RuleTimer.ID(rule: rule.name, kind: .group, key: groupKey))
        flush(of: group, groupKey, candidate.occasion, at: candidate.time, candidate.rule)
    }

    /// Flushes a group whose time is over.
    mutating func flush(_ timer: RuleTimer, _ number: Int) {
        let rule = book.compiled[number]
        guard let group = rule.time.group, memory.isKnown(rule.stateKey(.gathered, timer.id.key)) else { return }
        flush(of: group, timer.id.key, .timer(timer.id, due: timer.due), at: timer.due, number)
    }

    private mutating func flush(
        of group: TimeParts.Group, _ key: String, _ occasion: Occasion, at time: Timestamp, _ number: Int
    ) {
        let rule = book.compiled[number]
        let gathered = memory.gathered(rule.stateKey(.gathered, key)).values.sorted(by: Gathered.isBefore)
        guard let latest = gathered.last else { return }
        var (occasion, isOfTimer) = (occasion, false)
        if case .timer(let id, let due, _) = occasion, id.kind == .group {
            isOfTimer = true
            occasion = .timer(id, due: due, gathered.first?.beginning)
        }
        var candidate = Candidate(
            rule: number, occasion: occasion, time: time, source: latest.source, subject: latest.subject, gathered: gathered)
        candidate.key = group.by == nil ? nil : GroupKey(stored: key).key
        candidate.since = gathered.compactMap(\.joined).min()
        // The latest task as it is now; if it is gone, as it was last seen.
        switch present(latest.task, in: latest.source) {
        case .found(let task)?, .departed(let task)?: candidate.task = task
        case .missing?, nil: candidate.task = latest.element
        case .unread?: return
        }
        for one in gathered { memory.delete(rule.stateKey(.gathered, key).at(one.name)) }
        if group.every > .zero {
            let start = candidate.start(at: now)
            memory.set(rule.stateKey(.group, key), to: .int(start.microseconds), expires: start + group.every)
        }
        // A timer's flush is a run for the oldest of its events.
        let own = isOfTimer ? gathered[0].name : occasion.id.text
        let place = gathered.first { $0.name.hasBytes(of: own) }?.event
        for one in gathered where !one.name.hasBytes(of: own) {
            record(.usedUp, one, of: "group", key: candidate.key ?? "", by: own, at: place, rule: number)
        }
        finish(candidate, rule)
    }

    // MARK: The run

    private mutating func finish(_ candidate: Candidate, _ rule: Rule) {
        guard move(to: candidate) else { return }
        perform(rule, candidate.rule, RunKeys(rule, frame, activation), candidate)
    }

    /// The text of a key; empty without an expression. Nil, with the reason recorded, if it is null or fails.
    mutating func key(_ expression: RuleExpression?, _ what: String, _ number: Int) -> String? {
        guard let expression else { return "" }
        var stop: Stop?
        let key = RunKeys.key(expression, what, activation, &stop)
        if let stop { record(stop, of: number) }
        return key
    }
}

/// The key of a group, and whether it gathers runs in shadow mode.
struct GroupKey {
    private static let mark = "shadow\u{1F}"

    var key: String
    var isShadow: Bool

    init(_ key: String, isShadow: Bool) { (self.key, self.isShadow) = (key, isShadow) }

    init(stored text: String) {
        isShadow = text.hasPrefix(Self.mark)
        key = isShadow ? String(text.dropFirst(Self.mark.count)) : text
    }

    /// The key of the group's state and timer.
    var text: String { isShadow ? Self.mark + key : key }
}
