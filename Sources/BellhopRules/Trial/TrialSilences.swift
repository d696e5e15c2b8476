import BellhopCore

/// The silences of a trial.
struct TrialSilences: Sendable {
    private var all: [Silence]
    private(set) var book: SilenceBook
    /// The silences whose begin and end the rules have seen, and how many deliveries each kept back.
    private var (begun, ended): (Set<String>, Set<String>) = ([], [])
    private var kept: [String: Int] = [:]

    init(_ silences: [Silence], of rules: RuleBook) {
        all = silences.map(\.identified)
        book = rules.silences(all)
    }

    mutating func add(_ silence: Silence, of rules: RuleBook) {
        all.append(silence.identified)
        book = rules.silences(all)
    }

    mutating func forgetBeginnings(before moment: Timestamp) {
        begun.formUnion(all.filter { $0.starts < moment }.map(\.id))
    }

    /// Counts a delivery that a silence kept back.
    mutating func count(keptBy silence: String) { kept[silence, default: 0] += 1 }

    /// When the next silence begins or ends.
    var nextEdge: Timestamp? {
        let begins = all.filter { !begun.contains($0.id) }.map(\.starts)
        return (begins + all.filter { begun.contains($0.id) && !ended.contains($0.id) }.map(\.ends)).min()
    }

    /// The events of silences that have begun or ended since the last call.
    mutating func beginAndEnd(at now: Timestamp) -> [Event] {
        var events: [Event] = []
        for silence in all where silence.starts <= now {
            if begun.insert(silence.id).inserted { events.append(.silenceStarted(silence, at: now)) }
            guard silence.ends <= now, ended.insert(silence.id).inserted else { continue }
            events.append(.silenceEnded(SilenceRecord(silence, kept: kept[silence.id] ?? 0, ended: now), at: now))
        }
        return events
    }
}
