import BellhopCore

extension [DecisionRecord] {
    /// The record that best explains the result of a run: an event may end a wait and then begin another, and several elements of a list
    /// may wait. A wait that a later record explains does not count.
    var stop: DecisionRecord? {
        let ended = Set(filter(\.verdict.isOfEarlier).map(\.occasion))
        let due = Set(compactMap(\.occasion.wait))
        let hasNoStep = contains { $0.verdict == .noStep }
        let ofRun = filter { record in
            let isDue = record.verdict == .waiting && record.detail["key"]?.asString.map(due.contains) ?? false
            // The run has used up what was gathered.
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
    var isOfRun: Bool { verdict.isOfRun && !isOfEscalation }

    /// Until when the event can be counted, or be completed by others.
    var timeLimit: Timestamp? { verdict.isWaiting && detail["of"] != nil ? detail["until"]?.asMoment : nil }
}
