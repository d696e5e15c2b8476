import BellhopCore

extension Explainer {
    /// An escalation that has ended, as a clause with the reason, if it is known.
    ///
    /// - Parameter record: the record that it began or continued.
    func endedEscalation(_ record: DecisionRecord) -> String {
        let ended = "\(record.escalation) has ended"
        if let end = end(ofEscalation: record) {
            return "\(ended): \(end.reasonOfEnd(in: book?.rule(named: record.rule)?.zone ?? .utc))"
        }
        // The steps of another event's run are not always among the facts.
        guard record.detail["by"] == nil, let last = lastStep(of: record.occasion, record.rule) else { return ended }
        return "\(ended): its last step came at \(time(last, record.rule))"
    }

    /// The record of the end of an escalation; nil if it ended with its last step.
    func end(ofEscalation record: DecisionRecord) -> DecisionRecord? {
        let all = escalations[[record.rule, record.detail["key"]?.asString ?? ""]] ?? []
        guard let place = all.firstIndex(of: record) else { return nil }
        // The next run that began an escalation found none under way. Other runs name the one under way in `by`.
        let next = all[(place + 1)...].first { $0.verdict != .escalating || $0.detail["by"] == nil }
        return next?.verdict == .escalating ? nil : next
    }

    /// When the last step of a run's escalation was made, with or without a delivery.
    private func lastStep(of run: Occasion.ID, _ rule: String) -> Timestamp? {
        func isStep(_ occasion: Occasion.ID) -> Bool {
            guard case .escalation(run, _, _)? = Occasion(occasion) else { return false }
            return true
        }
        let made = facts.deliveries.filter { $0.rule == rule && isStep($0.occasion) }.map(\.created)
        let empty = facts.decisions.filter { $0.rule == rule && $0.verdict == .noStep && isStep($0.occasion) }.map(\.at)
        return (made + empty).max()
    }
}
