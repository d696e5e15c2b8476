import BellhopCore
import BellhopRules

/// An explanation as lines for people.
struct ExplanationPage {
    let zone: TimeZoneTable
    /// Whether to include rules that do not match the event.
    let isWhole: Bool
    /// Whether the rules do not load, so that only recorded facts are known.
    var lacksRules = false

    func lines(_ explanation: Explanation) -> [String] {
        var lines: [String] = []
        if explanation.isCut { lines += ["There are older events: --limit shows more.", ""] }
        for (place, account) in explanation.events.enumerated() {
            if place > 0 { lines.append("") }
            lines += self.lines(account)
        }
        if !explanation.others.isEmpty {
            lines += ["", "Also done for the task, when times came due:"]
            for delivery in explanation.others { lines += self.lines(delivery, rule: delivery.rule) }
        }
        return lines
    }

    private func lines(_ account: Explanation.EventAccount) -> [String] {
        let event = account.event.event
        var lines = [head(event)]
        let rules = account.rules.filter { isWhole || $0.isRelevant }
        if rules.isEmpty {
            lines.append(
                lacksRules
                    ? "  No rule left a record of it."
                    : "  No rule matches it: `bellhop explain \(Self.subject(of: event)) --rule RULE` says why.")
        }
        for rule in rules { lines += self.lines(rule) }
        for event in account.caused { lines.append("  caused " + head(event.event)) }
        return lines
    }

    /// The number of the event's task, or otherwise the start of the event's id, as `bellhop explain` takes it.
    private static func subject(of event: Event) -> String {
        let number = event.task?.number ?? ""
        return number.isEmpty ? String(event.id.text.prefix(12)) : number.singleLine.visible
    }

    func head(_ event: Event) -> String {
        let summary = Events.summary(event, in: zone)
        let ours = event.hop > 0 ? Paint.dim(" (\(counted(event.hop, "step")) after a rule's action)") : ""
        return Paint.dim(zone.dateAndClock(event.time)) + "  " + Paint.dim(String(event.id.text.prefix(12))) + "  "
            + Paint.cyan(event.type.name) + "  \(event.source.singleLine.visible): \(summary.visible)" + ours
    }

    private func lines(_ account: Explanation.Account) -> [String] {
        let ranAgain = account.ranWhenReplayed
        let sign = account.verdict == .ran || ranAgain ? Paint.green("✓") : "–"
        let replay = ranAgain ? "ran when replayed; without the replay: " : ""
        let reason = local(account.reason).afterColon
        var lines = ["  \(sign) \(account.rule.visible): \(replay)\(words(account.verdict))\(reason)"]
        lines += account.parts.lines.map { "      " + $0.visible }
        lines += account.notes.map { "      note: \(local($0))" }
        for delivery in account.deliveries { lines += self.lines(delivery, rule: nil) }
        return lines
    }

    /// A clause of the explanation. Its times, which are in the rule's zone, are converted to the zone of this page.
    private func local(_ clause: String) -> String { clause.singleLine.withLocalTimes(in: zone, ofAnyOffset: true).visible }

    private func words(_ verdict: Explanation.Verdict) -> String {
        switch verdict {
        case .ran: "ran"
        case .off, .type, .source, .field: "not for this event"
        case .conditionFalse, .conditionUnknown, .notTrueWhenDue, .expired, .throttled, .once: "did not run"
        case .conditionFailed, .keyFailed, .stepFailed, .loop: "failed"
        case .waiting: "waits"
        case .cancelled, .endedEarly: "stopped waiting"
        case .counting: "counts"
        case .gathering: "gathers"
        case .usedUp: "used it up"
        case .silenced, .quiet: "ran, nothing was sent"
        case .shadow, .canary: "ran, nothing was done"
        case .budget: "ran in part"
        case .unrouted: "has not seen it yet"
        case .unseen: "did not see it"
        case .unknown: "unknown"
        }
    }

    func lines(_ delivery: ExplainedDelivery, rule: String?) -> [String] {
        let title = delivery.content.isEmpty ? "" : " “\(delivery.content.singleLine.visible.cut(to: 60))”"
        let content = title + (delivery.resolves ? " (resolve)" : "")
        let next = next(delivery).map { ", \($0)" } ?? ""
        let silence = delivery.silence.map { " by silence \($0.visible)" } ?? ""
        // One that expires after an attempt ends without a further attempt.
        let showsEnd =
            delivery.attempts.last.map { delivery.state == .dead && $0.outcome != AttemptOutcome.dead.rawValue } ?? true
        let answer = showsEnd ? delivery.answer.map { ": \(local($0))" } ?? "" : ""
        let replay = delivery.occasion.replayed != nil ? "replayed: " : ""
        let head =
            "      \(replay)\(rule.map { "\($0.visible): " } ?? "")\(delivery.action.visible) to \(delivery.receiver.visible)\(content)"
        return ["\(head): \(delivery.state.rawValue)\(silence)\(next)\(answer) \(Paint.dim("(\(delivery.id.prefix(12)))"))"]
            + delivery.attempts.map { attempt in
                "        attempt \(attempt.number) at \(zone.dateAndClock(attempt.at)): \(attempt.outcome): "
                    + local(attempt.detail)
            }
    }

    private func next(_ delivery: ExplainedDelivery) -> String? {
        guard let stop = delivery.stop else { return delivery.next.map { "due \(zone.dateAndClock($0))" } }
        let next = DeliveryPage.nextTry(after: stop, to: delivery.receiver)
        return "next try " + next.singleLine.withLocalTimes(in: zone)
    }
}
