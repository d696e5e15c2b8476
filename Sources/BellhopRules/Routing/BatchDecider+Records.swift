import BellhopCore

/// Records why rules did not run, or not yet.
extension BatchDecider {
    /// - Parameter occasion: the occasion of an earlier run, if the record is about that run.
    mutating func record(_ stop: Stop, of number: Int, for occasion: Occasion.ID? = nil) {
        let rule = book.compiled[number].name
        let record = decisions.add(stop, of: rule, for: occasion ?? frame.occasion.id, at: now)
        bytes += Self.recordBytes
        if let error = record.error { self.count(error: error, of: number) }
    }

    mutating func record(_ verdict: DecisionRecord.Verdict, _ detail: JSON.Object, of number: Int) {
        record(Stop(verdict: verdict, detail: detail), of: number)
    }

    /// Records that the condition does not hold for the frame's run; in tests, with the values of its parts.
    mutating func recordFalseCondition(_ verdict: DecisionRecord.Verdict, key: String, of number: Int) {
        let rule = book.compiled[number]
        var detail: JSON.Object = ["key": .string(key)]
        if let parts = rule.condition?.explained(frame, book.slots, zone: rule.zone)?.parts {
            detail["values"] = .array(parts.lines.map(JSON.string))
        }
        record(verdict, detail, of: number)
    }

    /// Records that a replay found a wait under way. Other events get no such record, because there may be many: the record of
    /// the wait's beginning explains them.
    mutating func recordUnderWay(_ wait: Wait, of part: String, key: String, rule number: Int) {
        guard matches.replay != nil else { return }
        var detail: JSON.Object = ["part": .string(part), "key": .string(key), "by": .string(wait.began.name)]
        if !wait.hasRun { detail["until"] = .string(wait.due.rfc3339) }
        record(.waiting, detail, of: number)
    }

    /// Records the result of an earlier run that waited, was counted or was gathered, and the run that caused this result.
    /// - Parameter place: the place of the other run's event.
    mutating func record(
        _ verdict: DecisionRecord.Verdict, _ earlier: Gathered, of part: String, key: String, by name: String,
        at place: Int64? = nil, rule number: Int
    ) {
        // Only events are explained.
        guard earlier.event != nil else { return }
        var detail: JSON.Object = ["part": .string(part), "key": .string(key), "by": .string(name)]
        // The name of a timer's run does not have the event that began it.
        if Occasion.ID(name).event == nil, let place, let event = event(at: place).value {
            detail["event"] = .string(event.event.id.text)
        }
        if verdict == .endedEarly { detail["end"] = frame.sequence.map(JSON.int) }
        record(Stop(verdict: verdict, detail: detail), of: number, for: Occasion.ID(earlier.name))
    }

    /// Records that the frame's run made none of these steps, and why.
    mutating func recordNoStep(_ steps: [Step], of number: Int) {
        let reasons = steps.compactMap { $0.objection(activation) }
        record(.noStep, ["left_out": .array(reasons.map(JSON.string))], of: number)
    }
}

/// The decisions that a batch records: of each rule and verdict, the latest ones.
struct BatchDecisions {
    private struct Kind: Hashable {
        var rule: String
        var verdict: DecisionRecord.Verdict
    }

    private var records: [DecisionRecord] = []
    /// How many records were made, including those that are not kept.
    private var counts: [Kind: Int64] = [:]

    mutating func add(_ stop: Stop, of rule: String, for occasion: Occasion.ID, at now: Timestamp) -> DecisionRecord {
        let count = counts[Kind(rule: rule, verdict: stop.verdict), default: 0] + 1
        counts[Kind(rule: rule, verdict: stop.verdict)] = count
        let record = DecisionRecord(
            rule: rule, verdict: stop.verdict, occasion: occasion, at: now, number: count, detail: stop.detail)
        records.append(record)
        return record
    }

    /// The records that are kept.
    var latest: [DecisionRecord] {
        records.filter { record in
            record.number > counts[Kind(rule: record.rule, verdict: record.verdict), default: 0] - Int64(DecisionRecord.most)
        }
    }
}
