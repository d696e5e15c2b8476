public import BellhopCore

/// The effects of rules for some events, and the reasons, found in the store's records and the rules' text. Pure.
public struct Explanation: Sendable {
    public enum Verdict: String, Sendable, CaseIterable {
        case ran
        // The rule's text rules the event out.
        case off, type, source, field
        case conditionFalse = "condition_false"
        case conditionUnknown = "condition_unknown"
        case conditionFailed = "condition_failed"
        case keyFailed = "key_failed"
        case stepFailed = "step_failed"
        case loop
        // A part of the rule.
        case waiting, cancelled
        case notTrueWhenDue = "not_true_when_due"
        case counting, gathering, throttled, once
        /// A later run took it; what it had begun or joined was ended before its time.
        case usedUp = "used_up"
        case endedEarly = "ended_early"
        /// The time in which it could be counted, or be completed by others, was over.
        case expired
        // It ran, but nothing was sent.
        case silenced, quiet, budget, shadow, canary
        /// No rule has seen the event yet.
        case unrouted
        /// The rule did not see the event: it was paused, or came later.
        case unseen
        /// The records of that time have been deleted.
        case unknown
    }

    /// The effect of one rule for one event, and the reason.
    public struct Account: Sendable {
        public var rule: String
        public var verdict: Verdict
        /// A clause; empty if the rule ran.
        public var reason: String
        /// Further facts, as sentences without a full stop.
        public var notes: [String]
        /// The value of each part of the condition, if the condition decided.
        public var parts: [Evaluation.Part]
        public var deliveries: [ExplainedDelivery]
        /// Whether the rule is for events like this one, or the event had any effect on it.
        public var isInQuestion: Bool
    }

    public struct EventAccount: Sendable {
        public var event: StoredEvent
        public var rules: [Account]
        /// The events that its runs emitted.
        public var caused: [StoredEvent]
    }

    /// The oldest first.
    public var events: [EventAccount]
    /// The deliveries that timers made for the task, if none of the events began their waits.
    public var others: [ExplainedDelivery]
    /// Whether there are older events of the task.
    public var isCut: Bool

    /// - Parameters:
    ///   - book: loaded to explain; nil if the rules do not load. Then only recorded facts are known.
    ///   - rule: the only rule to explain; nil for all.
    ///   - now: the present time, at which the time of what waits may be over.
    public init(
        _ facts: ExplanationFacts, by book: RuleBook?, rule: String? = nil, tasks: [Scope.ID: [Snapshot]] = [:],
        at now: BellhopCore.Timestamp
    ) {
        isCut = facts.isCut || facts.lackDeliveries
        let explainer = Explainer(facts, book: book, tasks: tasks, at: now)
        let caused = Dictionary(grouping: facts.caused, by: \.event.cause)
        events = facts.events.map { event in
            let names = rule.map { [$0] } ?? explainer.rules(at: event)
            return EventAccount(
                event: event, rules: names.map { explainer.account(of: $0, at: event) },
                caused: caused[event.event.id] ?? [])
        }
        let explained = Set(events.flatMap(\.rules).flatMap(\.deliveries).map(\.id))
        others = facts.deliveries.filter { !explained.contains($0.id) && (rule == nil || $0.rule == rule) }
    }
}

/// Tells what became of each event at each rule.
private struct Explainer {
    let facts: ExplanationFacts
    let book: RuleBook?
    let tasks: [Scope.ID: [Snapshot]]
    let now: BellhopCore.Timestamp
    private let deliveries: [Event.ID: [ExplainedDelivery]]
    private let decisions: [Event.ID: [DecisionRecord]]
    /// The beginnings of waits of `for` and `none`, by rule and key.
    private let waits: [[String]: [DecisionRecord]]
    /// When timers came due, by rule and the place of the event that began the wait.
    private let fired: [[String]: BellhopCore.Timestamp]
    /// The ends of waits before their time, by rule and the run that began the wait.
    private let ends: [[String]: [DecisionRecord]]
    /// The places of the events on the bus.
    private let places: [Event.ID: Int64]

    init(_ facts: ExplanationFacts, book: RuleBook?, tasks: [Scope.ID: [Snapshot]], at now: BellhopCore.Timestamp) {
        (self.facts, self.book, self.tasks, self.now) = (facts, book, tasks, now)
        deliveries = facts.byEvent(facts.deliveries, withSilences: true) { $0.occasion }
        decisions = facts.byEvent(facts.decisions, withSilences: true) { $0.occasion }
        let timers =
            facts.deliveries.map { ($0.rule, $0.occasion, $0.created) } + facts.decisions.map { ($0.rule, $0.occasion, $0.at) }
        fired = Dictionary(
            timers.compactMap { rule, occasion, time in occasion.begun.map { ([rule, "\($0)"], time) } }, uniquingKeysWith: min)
        ends = Dictionary(grouping: facts.decisions.filter { $0.verdict == .endedEarly }) { [$0.rule, $0.occasion.text] }
        waits = Dictionary(grouping: facts.decisions.filter { $0.verdict == .waiting && $0.detail["by"] == nil }) {
            [$0.rule, $0.detail["key"]?.asString ?? ""]
        }
        places = Dictionary(facts.events.map { ($0.event.id, $0.sequence) }) { first, _ in first }
    }

    /// The rules in force, and those that did something for the event though they are gone.
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
            isInQuestion: !all.isEmpty || !allRecords.isEmpty || judgement?.isInQuestion ?? false)
        account.notes = records.filter { !$0.isOfRun || [.cancelled, .noStep].contains($0.verdict) && $0 != records.stop }.map {
            clause($0)
        }
        if let stop = records.stop, !isLater(deliveries, than: stop) {
            (account.verdict, account.reason) = result(stop)
            if stop.verdict == .noStep { account.notes += stop.leftOut }
            if [.cancelled, .conditionFalse, .conditionFailed].contains(stop.verdict) { account.parts = judgement?.parts ?? [] }
            noteChange(&account, at: event)
        } else if !deliveries.isEmpty {
            (account.verdict, account.reason) = outcome(of: deliveries, records, name)
            if let revision = deliveries.first?.revision, let present = book?.rule(named: name)?.summary.revision,
                revision != present
            {
                account.notes.append("the rule has changed since; this is what its earlier version did")
            }
        } else if let step = records.last(where: { [.stepFailed, .budget].contains($0.verdict) }) {
            (account.verdict, account.reason) = (step.verdict == .budget ? .budget : .stepFailed, clause(step))
            account.notes.removeAll { $0 == account.reason }
        } else {
            judge(&account, judgement, at: event)
        }
        let occasions = deliveries.map(\.occasion) + records.map(\.occasion)
        if let over = occasions.lazy.filter({ $0.silence != nil }).compactMap(\.due).first {
            account.notes.append("no event that `none` names came after this one until \(time(over, name))")
        }
        account.notes += replays(all, allRecords, name)
        return account
    }

    /// Tells it from the rule's text, because nothing is recorded.
    private func judge(_ account: inout Explanation.Account, _ judgement: Judgement?, at event: StoredEvent) {
        guard let judgement else {
            let why = book == nil ? "the rules do not load" : "there is no such rule now"
            (account.verdict, account.reason) = (.unknown, "nothing is recorded, and \(why)")
            return
        }
        if judgement.isInQuestion, let change = facts.replacement(of: account.rule, since: event) {
            (account.verdict, account.reason) = replaced(change, judgement)
            return
        }
        if let verdict = Explanation.Verdict(rawValue: judgement.verdict.rawValue) {
            (account.verdict, account.reason, account.parts) = (verdict, judgement.reason, judgement.parts)
            if facts.unrouted.contains(event.sequence), judgement.isInQuestion {
                account.notes.append("no rule has seen the event yet")
            }
            if judgement.readsTasks { account.notes.append("its `when` reads other tasks, which are shown as they are now") }
            return
        }
        if facts.lackDeliveries {
            (account.verdict, account.reason) = (
                .unknown, "there are more deliveries than are read here: `bellhop deliveries --rule \(account.rule)` lists them"
            )
        } else if facts.unrouted.contains(event.sequence) {
            (account.verdict, account.reason) = (.unrouted, "no rule has seen the event yet")
        } else if let pause = facts.pause(of: account.rule, at: event.event.time) {
            (account.verdict, account.reason) = (.unseen, "the rule was paused since \(time(pause, account.rule))")
        } else if let since = facts.rules.first(where: { $0.name == account.rule })?.since, event.sequence <= since {
            (account.verdict, account.reason) = (
                .unseen, "the event is older than the rule, or than its latest `bellhop resume`"
            )
        } else if !facts.rules.contains(where: { $0.name == account.rule }) {
            (account.verdict, account.reason) = (.unseen, "the rule is in the files, but not in force yet")
        } else if let wait = judgement.wait, let began = beginning(of: wait, account.rule, before: event) {
            let part = book?.rule(named: account.rule)?.time.hold == nil ? "none" : "for"
            let what = began.occasion.event.map { "with event \($0.text.prefix(12))" } ?? "with the rule"
            (account.verdict, account.reason) = (
                .waiting, "`\(part)` had begun before, \(what) at \(time(began.at, account.rule))"
            )
        } else if let rule = book?.rule(named: account.rule), let pattern = rule.time.pattern, pattern.beginsByItself {
            (account.verdict, account.reason) = silence(after: event, pattern, rule)
        } else if let idle = judgement.idle {
            (account.verdict, account.reason) = idle
        } else if judgement.isEmptyRun {
            account.reason = Self.noStep
            noteChange(&account, at: event)
        } else if let rule = book?.rule(named: account.rule), rule.time.each != nil {
            let what = rule.time.hold == nil ? "for no element was anything to do" : "no wait of `for` began or ended"
            (account.verdict, account.reason) = (.ran, "it ran through its list, and \(what)")
        } else if let change = facts.change(of: account.rule, since: event) {
            (account.verdict, account.reason) = (
                .unknown, "it would run now, but it was changed at \(time(change, account.rule)), after the event"
            )
        } else if let rule = book?.rule(named: account.rule), rule.once != nil || rule.throttle != nil || !rule.time.isEmpty {
            (account.verdict, account.reason) = (
                .unknown, "its text allows the run; if something stopped it, the record is gone"
            )
        } else {
            (account.verdict, account.reason) = (
                .unknown, "nothing in its text is against it at the time of the event, but no run is recorded"
            )
        }
        account.notes += judgement.leftOut
    }

    /// The verdict on an event of which nothing is recorded, if the rule is not the one that saw it.
    private func replaced(
        _ change: ExplanationFacts.Change, _ judgement: Judgement
    ) -> (Explanation.Verdict, String) {
        let time = time(change.at, change.rule)
        let present = "; by its present text, \(judgement.reason.isEmpty ? "nothing is against a run" : judgement.reason)"
        return switch change.kind {
        case .added: (.unseen, "the event is older than the rule, which was added at \(time)")
        case .removed: (.unknown, "nothing is recorded, and the rule was removed at \(time), after the event\(present)")
        case .changed, .anew:
            (.unknown, "nothing is recorded, and what it runs for was changed at \(time), after the event\(present)")
        }
    }

    /// The beginning of the wait that was under way when the event came.
    private func beginning(of wait: String, _ rule: String, before event: StoredEvent) -> DecisionRecord? {
        waits[[rule, wait]]?.last { record in
            let place = record.detail["place"]?.asInt ?? record.occasion.event.flatMap { places[$0] }
            // An absence may have begun with an event of the same poll, which was routed later than the poll.
            let mayBeLater = record.part == "none" && place != nil && !record.occasion.isReplay
            return (mayBeLater || record.at <= event.event.time) && (place ?? 0) < event.sequence
                && !isOver(record, before: event)
        }
    }

    /// Whether an absence was over when the event came: its timer had come due, or an event between them had ended it. While no agent
    /// runs, timers come due late.
    private func isOver(_ wait: DecisionRecord, before event: StoredEvent) -> Bool {
        guard wait.part == "none" else { return false }
        let place = wait.detail["place"]?.asInt ?? 0
        if let fired = fired[[wait.rule, "\(place)"]], fired < event.event.time { return true }
        return ends[[wait.rule, wait.occasion.text]]?.contains { end in
            end.detail["by"]?.asString.flatMap { Occasion.ID($0).event }.flatMap { places[$0] }.map { $0 < event.sequence }
                ?? false
        } ?? false
    }

    /// What became of the time of `none` that the event started again, if it did not run out: that is recorded.
    private func silence(after event: StoredEvent, _ pattern: Pattern, _ rule: Rule) -> (Explanation.Verdict, String) {
        let id = RuleTimer.ID(rule: rule.name, kind: .absence, key: pattern.isBySource ? event.event.source : "")
        guard let timer = facts.timers[id], timer.payload["after"]?.asInt == event.sequence else {
            return (.endedEarly, "the time of `none` started again before it ran out, by a later event or a change of the rule")
        }
        let what = "this event started the time of `none` again, which"
        return (.waiting, overdue(timer).map { "\(what) \($0)" } ?? "\(what) ends at \(time(timer.due, rule.name))")
    }

    /// That the timer is overdue, and when it comes, as a clause without a subject; nil if it is not overdue.
    private func overdue(_ timer: RuleTimer) -> String? {
        guard timer.due <= now else { return nil }
        let moment =
            facts.pause(of: timer.id.rule, at: now) != nil
            ? "once the rule is resumed"
            // Groups wait for no poll.
            : timer.id.kind == .group ? "once an agent runs" : "with the agent's next poll"
        return "was due at \(time(timer.due, timer.id.rule)), and comes \(moment)"
    }

    /// The result of each replay that left a record, as clauses.
    private func replays(_ deliveries: [ExplainedDelivery], _ records: [DecisionRecord], _ rule: String) -> [String] {
        let runs = Dictionary(grouping: deliveries) { $0.occasion.replayed ?? .distantPast }
        let stops = Dictionary(grouping: records) { $0.occasion.replayed ?? .distantPast }
        return Set(runs.keys).union(stops.keys).sorted().filter { $0 > .distantPast }.compactMap { at in
            let said = "replayed at \(time(at, rule)): "
            if runs[at] != nil { return said + "it ran" }
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
                return (.canary, "the task is not among those for which the rule is live (`canary`): recorded, not done")
            }
            return (.shadow, "it is in shadow mode: recorded, not done")
        }
        if all(.silenced) { return (.silenced, "a silence kept everything back") }
        if all(.quiet) { return (.quiet, "a quiet time keeps everything back until it ends") }
        if all(.dropped), records.contains(where: { $0.verdict == .quiet && $0.detail["dropped"] == true }) {
            return (.quiet, "a quiet time dropped everything")
        }
        if all(.dead), let stop = records.last(where: { $0.verdict == .budget }) { return (.budget, clause(stop)) }
        return (.ran, "")
    }

    /// Whether runs of timers came after what stopped the rule at first.
    private func isLater(_ deliveries: [ExplainedDelivery], than stop: DecisionRecord) -> Bool {
        // What became of one element of a list, or of an event that was counted, does not hide another run.
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
        if let id = stop.timer {
            let part = stop.verdict == .gathering ? "group" : id.kind == .absence ? "none" : "for"
            guard let timer = facts.timer(of: stop) else {
                return (
                    .unknown,
                    "`\(part)` does not wait any more, and why is not recorded: the record has been deleted, or the wait was dropped as "
                        + "the oldest of too many (`retention.keys`)"
                )
            }
            if let overdue = overdue(timer) { return (.waiting, "`\(part)` \(overdue)") }
        }
        return (Explanation.Verdict(rawValue: stop.verdict.rawValue) ?? .unknown, clause(stop))
    }

    /// A clause with the time at which the record's timer is due now: a changed calendar may have moved it.
    private func clause(_ record: DecisionRecord) -> String {
        var record = record
        if record.timer != nil {
            let timer = facts.timer(of: record)
            if record.verdict == .escalating {
                guard let timer else { return "the escalation is over" }
                if let overdue = overdue(timer) { return "the next step of the escalation \(overdue)" }
            }
            record.detail["until"] = timer.map { .string($0.due.rfc3339) }
        }
        return record.clause(of: book?.rule(named: record.rule))
    }

    private func noteChange(_ account: inout Explanation.Account, at event: StoredEvent) {
        guard let change = facts.change(of: account.rule, since: event) else { return }
        account.notes.append(
            "the rule was changed at \(time(change, account.rule)), after the event: its present text is used here")
    }

    private func time(_ moment: BellhopCore.Timestamp, _ rule: String) -> String {
        moment.formatted(in: book?.rule(named: rule)?.zone ?? .utc)
    }
}

extension [DecisionRecord] {
    /// The record that best explains the result of a run: an event may end a wait and then begin another, and several elements of a list
    /// may wait. A wait that a later record explains does not count.
    fileprivate var stop: DecisionRecord? {
        let ended = Set(filter(\.verdict.isOfEarlier).map(\.occasion))
        let due = Set(compactMap(\.occasion.wait))
        let hasNoStep = contains { $0.verdict == .noStep }
        let ofRun = filter { record in
            let isDue = record.verdict == .waiting && record.detail["key"]?.asString.map(due.contains) ?? false
            // What was gathered has gone into the run.
            let isOver = isDue || ended.contains(record.occasion) || record.verdict == .gathering && hasNoStep
            return record.isOfRun && !(record.verdict.isWaiting && isOver)
        }
        return ofRun.last { ![.cancelled, .conditionFalse, .noStep].contains($0.verdict) && !$0.verdict.isOfEarlier }
            ?? ofRun.last { $0.verdict == .noStep } ?? ofRun.last(where: \.verdict.isOfEarlier)
            ?? ofRun.last { $0.verdict == .cancelled } ?? ofRun.last
    }
}

extension DecisionRecord {
    /// Whether it stopped the run, and not only a step of it or of its escalation.
    fileprivate var isOfRun: Bool { verdict.isOfRun && !isOfEscalation }

    /// Until when the event can be counted, or be completed by others.
    fileprivate var timeLimit: BellhopCore.Timestamp? { verdict.isWaiting && detail["of"] != nil ? until : nil }

    private var until: BellhopCore.Timestamp? { detail["until"]?.asString.flatMap { BellhopCore.Timestamp(rfc3339: $0) } }
}
