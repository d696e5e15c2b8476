import BellhopCore
import BellhopRules

/// The reasons why a back-test is uncertain: times and facts that the stored events do not show.
struct BackTestGaps {
    /// The times at which sources, receivers or rules did not work as usual, by their names.
    private struct Spans {
        private(set) var open: [String: Timestamp] = [:]
        /// The first spans of each name that have ended; `counts` has the number of all.
        private(set) var closed: [(name: String, from: Timestamp?, to: Timestamp)] = []
        private var counts: [String: Int] = [:]

        mutating func begin(_ name: String, at time: Timestamp) { open[name] = open[name] ?? time }

        mutating func end(_ name: String, at time: Timestamp) {
            let from = open.removeValue(forKey: name)
            counts[name, default: 0] += 1
            if counts[name, default: 0] <= BackTestGaps.most { closed.append((name, from, time)) }
        }

        /// A sentence for each span of the included names.
        func sentences(_ isIncluded: (String) -> Bool = { _ in true }, _ sentence: (String, String) -> String) -> [String] {
            let ended = closed.filter { isIncluded($0.name) }.map { span in
                let from = span.from.map { "from \($0.rfc3339) " } ?? ""
                return sentence(span.name, from + "until \(span.to.rfc3339)")
            }
            let lasting = open.filter { isIncluded($0.key) }.sorted { $0.key < $1.key }.map { name, from in
                sentence(name, "from \(from.rfc3339) until the end")
            }
            let all = ended + lasting
            let count = counts.filter { isIncluded($0.key) }.values.reduce(lasting.count, +)
            let more = count - min(all.count, BackTestGaps.most)
            let others = more == 1 ? "is one more such time" : "are \(more) more such times"
            return more > 0 ? all.prefix(BackTestGaps.most) + ["There \(others)."] : all
        }
    }

    /// The most sentences of one kind.
    private static let most = 10

    /// The sources whose silence rules wait for, and which have no stored event.
    var unseen: [String] = []
    /// Until when events were deleted, if that is after the requested beginning.
    var pruned: Timestamp?
    /// How many events are of sources that bellhop.yaml no longer has, by source.
    private var missing: [String: Int] = [:]
    /// When the rules see their first event: changes of rules before it do not matter.
    var begin = Timestamp.distantPast
    private var failing = Spans()
    private var pausedReceivers = Spans()
    private var pausedRules = Spans()
    private var pausedWrites = Spans()
    /// When rules were added or changed last, and how often.
    private var changes: [String: (last: Timestamp, count: Int)] = [:]

    /// The first tasks that rules were made to forget, with the times, and how many there were.
    private var forgotten: (tasks: [String], count: Int) = ([], 0)

    /// How many times are kept.
    var kept: Int { [failing, pausedReceivers, pausedRules, pausedWrites].map(\.closed.count).reduce(0, +) }

    /// Adds an event of a source that bellhop.yaml no longer has.
    mutating func note(eventOfMissingSource source: String) {
        if missing[source] != nil || missing.count < Self.most { missing[source, default: 0] += 1 }
    }

    mutating func note(_ event: Event) {
        switch event.type {
        case .sourceFailing: failing.begin(event.source, at: event.time)
        case .sourceRecovered: failing.end(event.source, at: event.time)
        case .receiverPaused: event.data[.receiver]?.asString.map { pausedReceivers.begin($0, at: event.time) }
        case .receiverResumed: event.data[.receiver]?.asString.map { pausedReceivers.end($0, at: event.time) }
        default: break
        }
    }

    /// Adds an act of a person.
    mutating func note(_ row: AuditRow) {
        guard let entry = try? JSON.parse(row.entry) else { return }
        switch entry["act"]?.asString {
        case "pause":
            if entry["writes"] == true { pausedWrites.begin("", at: row.at) }
            if let rule = entry["rule"]?.asString { pausedRules.begin(rule, at: row.at) }
        case "resume":
            if entry["writes"] == true { pausedWrites.end("", at: row.at) }
            if let rule = entry["rule"]?.asString { pausedRules.end(rule, at: row.at) }
        case "forget":
            forgotten.count += 1
            if forgotten.tasks.count < Self.most {
                let number = entry["number"]?.asString ?? ""
                let task = number.isEmpty ? entry["task"]?.asString ?? "" : number
                forgotten.tasks.append("\(task) (\(row.at.rfc3339))")
            }
        case "reload" where row.at > begin:
            for rule in entry["added"].texts + entry["changed"].texts {
                changes[rule] = (row.at, (changes[rule]?.count ?? 0) + 1)
            }
        default: break
        }
    }

    /// Adds the present pauses, which may have begun before the time of the back-test.
    mutating func note(_ pauses: [Pause], _ stops: [ReceiverStop]) {
        for pause in pauses {
            switch pause.subject {
            case .rule(let name): pausedRules.begin(name, at: pause.since)
            case .writes: pausedWrites.begin("", at: pause.since)
            }
        }
        for stop in stops where stop.cause.isPause { pausedReceivers.begin(stop.receiver, at: stop.since) }
    }

    /// Adds the sources that fail now: the failure may have begun before the time of the back-test.
    mutating func note(_ sources: [StoreStatus.SourceStatus]) {
        for source in sources where source.health.announced {
            if let since = source.health.failingSince { failing.begin(source.source, at: since) }
        }
    }

    /// - Parameter other: the tally of the rules that these are compared with.
    func sentences(of book: RuleBook, _ report: BackTestReport, other: BackTestTally? = nil) -> [String] {
        if report.first == nil, !report.hasEarlier {
            return ["The store has no events yet, so the rules have nothing to do: `bellhop run` stores events."]
        }
        var found: [String] = []
        let span = report.until - report.since
        let isCounted = report.tally.isCounted
        let hasSchedules = book.registrations(at: report.since).contains { $0.schedule != nil && isCounted($0.name) }
        let negligible: Duration = hasSchedules ? .zero : min(.seconds(3600), span / 24)
        if let pruned {
            found.append(
                "Events before \(pruned.rfc3339) were deleted (`retention.events`), so the back-test begins there.")
        } else if !report.hasEarlier, let first = report.first, first > report.since + negligible {
            found.append(
                "The store has no events before \(first.rfc3339)"
                    + (hasSchedules ? ", so no earlier times of schedules are counted." : "."))
        }
        if report.unreadable > 0 { found.append("Events that cannot be read: \(report.unreadable).") }
        if report.ahead > 0 {
            found.append("Events that are left out, because the clock was ahead when they were stored: \(report.ahead).")
        }
        if !unseen.isEmpty {
            found.append("The store has no event of \(unseen.listed), so the back-test does not show its silence.")
        }
        found += missing.sorted { $0.key < $1.key }.map { name, count in
            "Events of the source \(name), which bellhop.yaml no longer has: \(count). Rules with `from` do not see them, and waits "
                + "for its tasks end."
        }
        found += failing.sentences { name, time in
            "The source \(name) could not be read \(time): changes in this time were seen later or never."
        }
        found += pausedRules.sentences({ book.contains($0) && isCounted($0) }) { name, time in
            "The rule \(name) was paused \(time) and saw no events; here it sees them."
        }
        found += pausedReceivers.sentences { name, time in
            "The receiver \(name) was paused \(time), and its deliveries waited; here they do not."
        }
        found += pausedWrites.sentences { _, time in
            "Writes to tasks were paused \(time), and waited; here they do not."
        }
        found += Self.losses(in: report.tally, most: book.maxKeys)
        if let other { found += Self.losses(in: other, most: book.maxKeys).map { "Among the rules compared with: \($0)" } }
        found += changesOfRules(in: book, isCounted)
        let (remembering, reading) = book.rulesDependingOnThePast(among: isCounted)
        if !remembering.isEmpty {
            found.append(
                "What rules waited for, counted, gathered or remembered at the start is not known and begins empty: "
                    + remembering.listed + ".")
        }
        if !remembering.isEmpty, forgotten.count > 0 {
            let more = forgotten.count - forgotten.tasks.count
            found.append(
                "`bellhop forget` made the rules forget tasks in this time, but here they remember them: "
                    + "\((forgotten.tasks + (more > 0 ? ["\(more) more"] : [])).joined(separator: ", ")).")
        }
        if !reading.isEmpty {
            let readers = "\(reading.listed) \(reading.count == 1 ? "reads" : "read") the tasks of sources"
            found.append("Tasks that no event of this time shows are taken as they are now: \(readers).")
        }
        found.append(
            "The back-test does not include times when no agent ran, failed deliveries, messages that `coalesce` joins, or reactions of people to its deliveries."
        )
        return found
    }

    private static func losses(in tally: BackTestTally, most: Int) -> [String] {
        tally.rules.sorted { $0.key < $1.key }.flatMap { name, rule in
            var found: [String] = []
            if rule.droppedKeys > 0 {
                found.append(
                    "The rule \(name) drops \(counted(rule.droppedKeys, "key")), because it may remember \(most): "
                        + "give it fewer keys (`by`), or raise `retention.keys`.")
            }
            if let paused = rule.paused {
                found.append(
                    "The rule \(name) is paused at \(paused.rfc3339) and sees no more events, because it has more keys of `once`, or "
                        + "more escalations, than the \(most) that it may remember: give it fewer keys, or raise `retention.keys`."
                )
            }
            return found
        }
    }

    private func changesOfRules(in book: RuleBook, _ isCounted: (String) -> Bool) -> [String] {
        let changed = changes.filter { book.contains($0.key) && isCounted($0.key) }.sorted { $0.key < $1.key }
        guard !changed.isEmpty else { return [] }
        let names = changed.prefix(Self.most).map { name, times in
            "\(name) (\(times.last.rfc3339)\(times.count > 1 ? " and before" : ""))"
        }
        let more = changed.count > Self.most ? ["\(changed.count - Self.most) more"] : []
        return [
            "These rules were added or changed in this time, but the back-test uses one version throughout: \((names + more).joined(separator: ", "))."
        ]
    }
}
