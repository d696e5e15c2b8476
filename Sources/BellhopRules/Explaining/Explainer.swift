import BellhopCore

/// Explains, for each event and each rule, what happened and why.
struct Explainer {
    let facts: ExplanationFacts
    let book: RuleBook?
    let tasks: [Scope.ID: [Snapshot]]
    let now: Timestamp
    private let deliveries: [Event.ID: [ExplainedDelivery]]
    private let decisions: [Event.ID: [DecisionRecord]]
    /// The beginnings of waits of `for` and `none`, by rule and key.
    private let waits: [[String]: [DecisionRecord]]
    /// When timers came due, and whether `when` held then, by rule and the place of the event that began the wait, with the time of
    /// its replay.
    private let fired: [[String]: (at: Timestamp, due: Timestamp?, isRun: Bool)]
    /// The ends of waits before their time, by rule and the run that began the wait.
    private let ends: [[String]: [DecisionRecord]]
    /// The places of the events on the bus.
    private let places: [Event.ID: Int64]

    init(_ facts: ExplanationFacts, book: RuleBook?, tasks: [Scope.ID: [Snapshot]], at now: Timestamp) {
        (self.facts, self.book, self.tasks, self.now) = (facts, book, tasks, now)
        deliveries = facts.deliveriesByEvent
        decisions = facts.byEvent(facts.decisions) { $0.occasion }
        let runs = (facts.deliveries + facts.earlier).map { ($0.rule, $0.occasion, $0.created, true) }
        let stops = facts.decisions.map { ($0.rule, $0.occasion, $0.at, $0.verdict != .notTrueWhenDue) }
        fired = Dictionary(
            (runs + stops).compactMap { rule, occasion, time, isRun in
                occasion.wait == nil
                    ? nil
                    : occasion.begun.map {
                        ([rule, "\($0) \(occasion.replayed?.microseconds ?? 0)"], (at: time, due: occasion.due, isRun: isRun))
                    }
            }, uniquingKeysWith: { $0.at <= $1.at ? $0 : $1 })
        ends = Dictionary(grouping: facts.decisions.filter { $0.verdict == .endedEarly }) { [$0.rule, $0.occasion.text] }
        waits = Dictionary(grouping: facts.decisions.filter { $0.verdict == .waiting && !$0.isUnderWay }) {
            [$0.rule, $0.detail["key"]?.asString ?? ""]
        }
        places = Dictionary(facts.events.map { ($0.event.id, $0.sequence) }) { first, _ in first }
    }

    /// The rules in force, and removed rules that did something for the event.
    func rules(at event: StoredEvent) -> [String] {
        let known = book?.rules.map(\.name) ?? []
        let gone =
            (deliveries[event.event.id] ?? []).map(\.rule) + (decisions[event.event.id] ?? []).map(\.rule)
        return known + Set(gone).subtracting(known).sorted()
    }

    func account(of name: String, at event: StoredEvent) -> Explanation.Account {
        let all = (deliveries[event.event.id] ?? []).filter { $0.rule == name }
        let allRecords = (decisions[event.event.id] ?? []).filter { $0.rule == name }
        // Replays of the event are explained separately.
        let deliveries = all.filter { $0.occasion.replayed == nil }
        let records = allRecords.filter { $0.occasion.replayed == nil }
        let judgement = book?.judge(event, by: name, tasks: tasks, at: event.event.time)
        var account = Explanation.Account(
            rule: name, verdict: .ran, reason: "", notes: [], parts: [], deliveries: all,
            isRelevant: !all.isEmpty || !allRecords.isEmpty || judgement?.isRelevant ?? false)
        account.notes = besides(records)
        if let stop = records.stop, !isLater(deliveries, than: stop) {
            account.result = result(stop)
            if stop.verdict == .noStep { account.notes += stop.leftOut }
            if [.cancelled, .conditionFalse, .conditionFailed].contains(stop.verdict) { account.parts = judgement?.parts ?? [] }
            noteChange(&account, at: event)
        } else if !deliveries.isEmpty {
            account.result = outcome(of: deliveries, records, name)
            if let revision = deliveries.first?.revision, let present = book?.rule(named: name)?.summary.revision,
                revision != present
            {
                account.notes.append("the rule has changed since; this is what its earlier version did")
            }
        } else if let step = records.last(where: { [.stepFailed, .budget].contains($0.verdict) }) {
            account.result = (step.verdict == .budget ? .budget : .stepFailed, clause(step))
            account.notes.removeAll { $0 == account.reason }
        } else {
            judge(&account, judgement, at: event)
        }
        let occasions = deliveries.map(\.occasion) + records.map(\.occasion)
        if let over = occasions.first(where: { $0.lastBefore != nil })?.due {
            account.notes.append("no event that `none` names came after this one until \(time(over, name))")
        }
        account.notes += replays(all, allRecords, name)
        return account
    }

    /// Explains the event from the rule's text, because nothing is recorded.
    private func judge(_ account: inout Explanation.Account, _ judgement: Judgement?, at event: StoredEvent) {
        guard let judgement else {
            let why = book == nil ? "the rules do not load" : "there is no such rule now"
            account.result = (.unknown, "nothing is recorded, and \(why)")
            return
        }
        if judgement.isRelevant, let change = facts.replacement(of: account.rule, since: event) {
            account.result = replaced(change, judgement)
            return
        }
        if let verdict = Explanation.Verdict(rawValue: judgement.verdict.rawValue) {
            (account.verdict, account.reason, account.parts) = (verdict, judgement.reason, judgement.parts)
            if facts.unrouted.contains(event.sequence), judgement.isRelevant {
                account.notes.append("no rule has seen the event yet")
            }
            if judgement.readsTasks { account.notes.append("its `when` reads other tasks, which are shown as they are now") }
            return
        }
        let rule = book?.rule(named: account.rule)
        if let rule, let timer = absence(of: rule, at: event), timer.payload["after"]?.asInt == event.sequence {
            account.result = (.waiting, "this event started `none` again, which \(predicate(timer))")
        } else if facts.unrouted.contains(event.sequence) {
            account.result = (.unrouted, "no rule has seen the event yet")
        } else if let pause = facts.pause(of: account.rule, at: event.event.time) {
            account.result = (.unseen, "the rule was paused since \(time(pause, account.rule))")
        } else if facts.wasPaused(account.rule, at: event.event.time) {
            account.result = (.unseen, "the rule was paused when the event came")
        } else if facts.lacksDeliveries {
            account.result = tooManyDeliveries(of: account.rule)
        } else if let wait = judgement.wait, let continued = continued(wait, account.rule, at: event) {
            account.result = continued
        } else if let since = facts.rules.first(where: { $0.name == account.rule })?.since, event.sequence <= since,
            !facts.wasResumed(account.rule, after: event.event.time)
        {
            account.result = (.unseen, "the event is older than the rule")
        } else if !facts.rules.contains(where: { $0.name == account.rule }) {
            account.result = (.unseen, "the rule is in the files, but not in force yet")
        } else if let pattern = rule?.time.pattern, pattern.beginsByItself {
            account.result = endOfAbsence(pattern, account.rule, at: event)
        } else if let idle = judgement.idle {
            account.result = idle
        } else if judgement.isEmptyRun {
            account.reason = Self.noStep
            noteChange(&account, at: event)
        } else if let rule, rule.time.each != nil {
            let what = rule.time.hold == nil ? "no element had anything to do" : "no wait of `for` began or ended"
            account.result = (.ran, "it ran through its list, and \(what)")
        } else if let change = facts.change(of: account.rule, since: event) {
            let time = time(change, account.rule)
            account.result = (.unknown, "it would run now, but it was changed at \(time), after the event")
        } else if let rule, rule.once != nil || rule.throttle != nil || !rule.time.isEmpty {
            account.result = (.unknown, "its text allows the run; if something stopped it, the record is gone")
        } else {
            account.result = (.unknown, "by its text it could have run at the time of the event, but no run is recorded")
        }
        account.notes += judgement.leftOut
    }

    /// The verdict on an event of which nothing is recorded, if the rule has been replaced since.
    private func replaced(
        _ change: ExplanationFacts.Change, _ judgement: Judgement
    ) -> (Explanation.Verdict, String) {
        let time = time(change.at, change.rule)
        let present = "; with its present text, \(judgement.reason.isEmpty ? "it could run" : judgement.reason)"
        return switch change.kind {
        case .added: (.unseen, "the event is older than the rule, which was added at \(time)")
        case .removed: (.unknown, "nothing is recorded, and the rule was removed at \(time), after the event\(present)")
        case .changed, .anew: (.unknown, "nothing is recorded, and the rule was changed at \(time), after the event\(present)")
        }
    }

    /// The verdict on an event that came during a wait of this key; nil if none was under way.
    private func continued(_ wait: String, _ rule: String, at event: StoredEvent) -> (Explanation.Verdict, String)? {
        let begun = waits[[rule, wait]]?.last { record in
            let place = record.waitPlace ?? record.occasion.event.flatMap { places[$0] }
            // An absence may have begun with an event of the same poll, which was routed later than the poll.
            let mayBeLater = record.part == "none" && place != nil && !record.occasion.isReplay
            return (mayBeLater || record.at <= event.event.time) && (place ?? 0) < event.sequence
        }
        guard let begun, !wasEnded(begun, before: event) else { return nil }
        let part = begun.part ?? "for"
        let what = begun.occasion.event.map { "with event \($0.text.prefix(12))" } ?? "with the rule"
        let words = "`\(part)` had begun before, \(what) at \(time(begun.at, rule))"
        // While no agent runs, timers fire late. A timer that is due at the moment of the event fires before it.
        if let over = fired[[rule, "\(begun.waitPlace ?? 0) \(begun.occasion.replayed?.microseconds ?? 0)"]],
            over.at < event.event.time || over.at == event.event.time && over.due == event.event.time
        {
            guard part == "for", over.isRun else { return nil }
            return (.once, "\(words), and the rule had run: `for` begins again when `when` has been false")
        }
        return (.waiting, words)
    }

    /// Whether the wait was ended before its time, when the event came.
    private func wasEnded(_ wait: DecisionRecord, before event: StoredEvent) -> Bool {
        ends[[wait.rule, wait.occasion.text]]?.contains { end in
            guard end.detail["key"] == nil || end.detail["key"] == wait.detail["key"] else { return false }
            return end.detail["end"]?.asInt.map { $0 < event.sequence } ?? (end.at <= event.event.time)
        } ?? false
    }

    // MARK: Timers

    /// The timer of an absence without `after`, which the event may have restarted.
    private func absence(of rule: Rule, at event: StoredEvent) -> RuleTimer? {
        guard let pattern = rule.time.pattern, pattern.beginsByItself else { return nil }
        return facts.timers[RuleTimer.ID(rule: rule.name, kind: .absence, key: pattern.isBySource ? event.event.source : "")]
    }

    /// How an absence without `after`, which the event had restarted, has ended. A run would be recorded.
    private func endOfAbsence(_ pattern: Pattern, _ rule: String, at event: StoredEvent) -> (Explanation.Verdict, String) {
        if let end = pattern.within.end(from: event.event.time), end < now - Self.recorded { return gone("none", rule) }
        return (.endedEarly, "`none` has no run for the time after this event: most likely a later event started it again")
    }

    /// For how long the store keeps records of decisions, as the agent sets it.
    private static let recorded = Retention().commonDecisions

    /// The present state of a timer, as a clause without a subject.
    private func predicate(_ timer: RuleTimer) -> String {
        if timer.isRecomputed { return "waits; its end is computed again, because a calendar has changed" }
        let due = time(timer.due, timer.id.rule)
        guard timer.due <= now else { return "waits until \(due)" }
        let source = book?.context.sources.first { $0.name == timer.source }
        let isPolled = book == nil || source.map { $0.shows != .events } ?? false
        let coming = RuleTimer.coming(
            isPaused: facts.pause(of: timer.id.rule, at: now) != nil, isAfterPoll: timer.id.kind.reevaluatesCondition && isPolled)
        return "was due at \(due), and comes \(coming)"
    }

    /// The verdict on a wait that has ended, if no record says why.
    private func gone(_ part: String, _ rule: String) -> (verdict: Explanation.Verdict, reason: String) {
        if facts.lacksDeliveries { return tooManyDeliveries(of: rule) }
        return (
            .unknown,
            "`\(part)` no longer waits, and the reason is not recorded: the record or the run has been deleted, or it was dropped as the "
                + "oldest of too many (`retention.keys`)"
        )
    }

    private func tooManyDeliveries(of rule: String) -> (verdict: Explanation.Verdict, reason: String) {
        (.unknown, "there are more deliveries than are read here: `bellhop deliveries --rule \(rule)` lists them")
    }

    /// The record as a clause, with the present due time of its timer: a changed calendar may have moved it.
    private func clause(_ record: DecisionRecord) -> String {
        let rule = book?.rule(named: record.rule)
        let timer = facts.timer(of: record)
        if record.verdict == .escalating {
            let escalation = record.escalation
            return timer.map { "the next step of \(escalation) \(predicate($0))" } ?? "\(escalation) is over"
        }
        if record.isUnderWay, record.detail["until"] != nil {
            return "\(record.begun), and \(timer.map(predicate) ?? "has ended since")"
        }
        return record.clause(of: rule, due: timer?.due)
    }

    // MARK: Runs

    /// What is recorded beside the result of a run, such as the state of its escalation, as clauses.
    private func besides(_ records: [DecisionRecord]) -> [String] {
        let hasEnded = records.contains { $0.verdict == .ended && $0.isOfEscalation }
        return records.filter { record in
            guard !record.isOfRun || [.cancelled, .noStep].contains(record.verdict) && record != records.stop else {
                return false
            }
            return !(hasEnded && record.verdict == .escalating && facts.timer(of: record) == nil)
        }.map { clause($0) }
    }

    /// The result of each replay that left a record, as clauses.
    private func replays(_ deliveries: [ExplainedDelivery], _ records: [DecisionRecord], _ rule: String) -> [String] {
        let runs = Dictionary(grouping: deliveries) { $0.occasion.replayed ?? .distantPast }
        let stops = Dictionary(grouping: records) { $0.occasion.replayed ?? .distantPast }
        return Set(runs.keys).union(stops.keys).sorted().filter { $0 > .distantPast }.compactMap { at in
            let said = "replayed at \(time(at, rule)): "
            if runs[at] != nil { return ([said + "it ran"] + besides(stops[at] ?? [])).joined(separator: "; ") }
            return stops[at]?.stop.map { said + ($0.verdict == .noStep ? clause($0) : result($0).reason) }
        }
    }

    /// The verdict that follows from the states of the run's deliveries.
    private func outcome(
        of deliveries: [ExplainedDelivery], _ records: [DecisionRecord], _ rule: String
    ) -> (Explanation.Verdict, String) {
        func all(_ state: DeliveryState) -> Bool { deliveries.allSatisfy { $0.state == state } }
        if all(.shadow) {
            if book?.rule(named: rule)?.summary.mode.isCanary == true {
                return (
                    .canary,
                    "the task is not among those for which the rule is live (`canary`), so its deliveries are only recorded"
                )
            }
            return (.shadow, "it is in shadow mode, so its deliveries are only recorded")
        }
        if all(.silenced) { return (.silenced, "a silence kept everything back") }
        if all(.quiet) { return (.quiet, "a quiet time keeps everything back until it ends") }
        if all(.dropped), records.contains(where: { $0.verdict == .quiet && $0.detail["dropped"] == true }) {
            return (.quiet, "a quiet time dropped everything")
        }
        if all(.dead), let stop = records.last(where: { $0.verdict == .budget }) { return (.budget, clause(stop)) }
        return (.ran, "")
    }

    /// Whether the rule ran after the decision that stopped it at first.
    private func isLater(_ deliveries: [ExplainedDelivery], than stop: DecisionRecord) -> Bool {
        // A record about one element of a list, or about an event that was counted, does not hide another run.
        (stop.verdict.isOfEarlier || stop.verdict == .noStep) && !deliveries.isEmpty
            || deliveries.contains { $0.created >= stop.at && $0.occasion != stop.occasion }
            || deliveries.contains { $0.occasion == stop.occasion }
    }

    private static let noStep = "no step had anything to do"

    /// The verdict of the record that explains the run, and a clause with the reason.
    private func result(_ stop: DecisionRecord) -> (verdict: Explanation.Verdict, reason: String) {
        if stop.verdict == .noStep { return (.ran, Self.noStep) }
        if let end = stop.timeLimit, end <= now {
            let isCount = stop.verdict == .counting
            let what =
                isCount
                ? "`count` did not reach \(stop.detail["of"]?.asInt ?? 0)" : "`\(stop.part ?? "on")` was not complete"
            let isDistinct = isCount && book?.rule(named: stop.rule)?.time.count?.distinct != nil
            return (
                .expired,
                "\(what) before the time of this event was over at \(time(end, stop.rule))"
                    + (isDistinct ? " (of each value of `distinct`, the latest event counts)" : "")
            )
        }
        if let id = stop.timer, !stop.isUnderWay {
            let part = id.kind == .group ? "group" : id.kind == .absence ? "none" : "for"
            guard let timer = facts.timer(of: stop) else { return gone(part, stop.rule) }
            if timer.due <= now || timer.isRecomputed { return (verdict(stop), "`\(part)` \(predicate(timer))") }
        }
        return (verdict(stop), clause(stop))
    }

    private func verdict(_ stop: DecisionRecord) -> Explanation.Verdict {
        Explanation.Verdict(rawValue: stop.verdict.rawValue) ?? .unknown
    }

    private func noteChange(_ account: inout Explanation.Account, at event: StoredEvent) {
        guard let change = facts.change(of: account.rule, since: event) else { return }
        account.notes.append(
            "the rule was changed at \(time(change, account.rule)), after the event: its present text is used here")
    }

    private func time(_ moment: Timestamp, _ rule: String) -> String {
        moment.formatted(in: book?.rule(named: rule)?.zone ?? .utc)
    }
}

extension Explanation.Account {
    fileprivate var result: (verdict: Explanation.Verdict, reason: String) {
        get { (verdict, reason) }
        set { (verdict, reason) = newValue }
    }
}
