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
    /// The beginnings and the ends of escalations, by rule and task, the oldest first.
    let escalations: [[String]: [DecisionRecord]]
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
        escalations = Dictionary(grouping: facts.decisions.filter { [.escalating, .answered, .ended].contains($0.verdict) }) {
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
        account.notes = furtherClauses(records)
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
            let what = rule.time.hold == nil ? "there was nothing to do" : "no wait of `for` began or ended"
            account.result = (.ran, "for the tasks of `each`, \(what)")
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

    /// The timer of an absence without `after`, which the event may have restarted.
    private func absence(of rule: Rule, at event: StoredEvent) -> RuleTimer? {
        guard let pattern = rule.time.pattern, pattern.beginsByItself else { return nil }
        return facts.timers[RuleTimer.ID(rule: rule.name, kind: .absence, key: pattern.isBySource ? event.event.source : "")]
    }

    /// How an absence without `after`, which the event had restarted, has ended. A run would be recorded.
    private func endOfAbsence(_ pattern: Pattern, _ rule: String, at event: StoredEvent) -> (Explanation.Verdict, String) {
        if let end = pattern.within.end(from: event.event.time), end < now - Self.recorded {
            return unexplainedEnd(of: "none", rule)
        }
        return (.endedEarly, "`none` has no run for the time after this event: most likely a later event started it again")
    }

    /// For how long the store keeps records of decisions, as the agent sets it.
    private static let recorded = Retention().commonDecisions

    private func noteChange(_ account: inout Explanation.Account, at event: StoredEvent) {
        guard let change = facts.change(of: account.rule, since: event) else { return }
        account.notes.append(
            "the rule was changed at \(time(change, account.rule)), after the event: its present text is used here")
    }

    func time(_ moment: Timestamp, _ rule: String) -> String {
        moment.formatted(in: book?.rule(named: rule)?.zone ?? .utc)
    }
}

extension Explanation.Account {
    fileprivate var result: (verdict: Explanation.Verdict, reason: String) {
        get { (verdict, reason) }
        set { (verdict, reason) = newValue }
    }
}
