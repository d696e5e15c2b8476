import BellhopCore

/// What recorded runs, stops and timers mean.
extension Explainer {
    /// What is recorded besides the result of a run, such as the state of its escalation, as clauses.
    func furtherClauses(_ records: [DecisionRecord]) -> [String] {
        records.filter { record in
            guard !record.isOfRun || [.cancelled, .noStep].contains(record.verdict) && record != records.stop else {
                return false
            }
            // The record of the end is shown itself.
            guard record.verdict == .escalating, facts.timer(of: record) == nil else { return true }
            return !(end(ofEscalation: record).map(records.contains) ?? false)
        }.map { clause($0) }
    }

    /// The result of each replay that left a record, as clauses.
    func replays(_ deliveries: [ExplainedDelivery], _ records: [DecisionRecord], _ rule: String) -> [String] {
        let runs = Dictionary(grouping: deliveries) { $0.occasion.replayed ?? .distantPast }
        let stops = Dictionary(grouping: records) { $0.occasion.replayed ?? .distantPast }
        return Set(runs.keys).union(stops.keys).sorted().filter { $0 > .distantPast }.compactMap { at in
            let prefix = "replayed at \(time(at, rule)): "
            if runs[at] != nil { return ([prefix + "it ran"] + furtherClauses(stops[at] ?? [])).joined(separator: "; ") }
            return stops[at]?.stop.map { prefix + ($0.verdict == .noStep ? clause($0) : result($0).reason) }
        }
    }

    /// The verdict that follows from the states of the run's deliveries.
    func outcome(
        of deliveries: [ExplainedDelivery], _ records: [DecisionRecord], _ rule: String
    ) -> (Explanation.Verdict, String) {
        // A message that `skip_empty` kept back is done in each mode.
        let others = deliveries.filter { $0.answer != Message.notSent }
        func all(_ state: DeliveryState) -> Bool { !others.isEmpty && others.allSatisfy { $0.state == state } }
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
    func isLater(_ deliveries: [ExplainedDelivery], than stop: DecisionRecord) -> Bool {
        // A record about one element of a list, or about an event that was counted, does not hide another run.
        (stop.verdict.isOfEarlier || stop.verdict == .noStep) && !deliveries.isEmpty
            || deliveries.contains { $0.created >= stop.at && $0.occasion != stop.occasion }
            || deliveries.contains { $0.occasion == stop.occasion }
    }

    static let noStep = "no step had anything to do"

    /// The verdict of the record that explains the run, and a clause with the reason.
    func result(_ stop: DecisionRecord) -> (verdict: Explanation.Verdict, reason: String) {
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
            guard let timer = facts.timer(of: stop) else { return unexplainedEnd(of: part, stop.rule) }
            if timer.due <= now || timer.isRecomputed { return (verdict(stop), "`\(part)` \(predicate(timer))") }
        }
        return (verdict(stop), clause(stop))
    }

    private func verdict(_ stop: DecisionRecord) -> Explanation.Verdict {
        Explanation.Verdict(rawValue: stop.verdict.rawValue) ?? .unknown
    }

    /// The present state of a timer, as a clause without a subject.
    func predicate(_ timer: RuleTimer) -> String {
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
    func unexplainedEnd(of part: String, _ rule: String) -> (verdict: Explanation.Verdict, reason: String) {
        if facts.lacksDeliveries { return tooManyDeliveries(of: rule) }
        return (
            .unknown,
            "`\(part)` no longer waits, and the reason is not recorded: the record or the run has been deleted, or it was dropped as the "
                + "oldest of too many (`retention.keys`)"
        )
    }

    func tooManyDeliveries(of rule: String) -> (verdict: Explanation.Verdict, reason: String) {
        (.unknown, "there are more deliveries than are read here: `bellhop deliveries --rule \(rule)` lists them")
    }

    /// The record as a clause, with the present due time of its timer: a changed calendar may have moved it.
    func clause(_ record: DecisionRecord) -> String {
        let rule = book?.rule(named: record.rule)
        let timer = facts.timer(of: record)
        if record.verdict == .escalating {
            return timer.map { "the next step of \(record.escalation) \(predicate($0))" } ?? endedEscalation(record)
        }
        if record.isUnderWay, record.detail["until"] != nil {
            return "\(record.begun), and \(timer.map(predicate) ?? "has ended since")"
        }
        return record.clause(of: rule, due: timer?.due)
    }
}
