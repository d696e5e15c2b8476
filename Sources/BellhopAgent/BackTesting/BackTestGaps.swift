import BellhopCore
import BellhopRules

/// What the events of a store cannot tell a back-test.
struct BackTestGaps {
    /// Since when sources fail.
    private var failing: [String: Timestamp] = [:]
    private var unread: [(source: String, from: Timestamp?, to: Timestamp?)] = []

    mutating func note(_ event: Event) {
        switch event.type {
        case .sourceFailing: failing[event.source] = failing[event.source] ?? event.time
        case .sourceRecovered:
            unread.append((event.source, failing.removeValue(forKey: event.source), event.time))
        default: break
        }
    }

    func sentences(of book: RuleBook, _ report: BackTestReport) -> [String] {
        var found: [String] = []
        if !report.hasEarlier, let first = report.first, first > report.since + .seconds(3600) {
            found.append("The store has no events before \(first.rfc3339).")
        }
        if report.unreadable > 0 { found.append("Events that cannot be read: \(report.unreadable).") }
        var gaps = unread
        for (source, from) in failing.sorted(by: { $0.key < $1.key }) { gaps.append((source, from, nil)) }
        for gap in gaps {
            let from = gap.from.map { "from \($0.rfc3339) " } ?? ""
            let to = gap.to.map { "until \($0.rfc3339)" } ?? "until the end"
            found.append(
                "The source \(gap.source) could not be read \(from)\(to): what changed meanwhile was seen later or never.")
        }
        let (remembering, reading) = book.rulesByKnowledge(among: report.tally.isCounted)
        if !remembering.isEmpty {
            found.append(
                "What was waited for, counted, gathered or remembered at the begin is not known: it begins empty for "
                    + remembering.listed + ".")
        }
        if !reading.isEmpty {
            found.append(
                "Tasks that no event of this time shows are not known: \(reading.listed) read the tasks of sources.")
        }
        found.append(
            "Times at which no agent ran, pauses, failed deliveries and answers of people to what rules would have done are not part "
                + "of it.")
        return found
    }
}
