import BellhopCore
import Simulator
import Testing

/// Compares the runs of rules with waits, counts, groups, digests, escalations, quiet times or limits, after many kills, with the
/// runs that follow from the events alone.
struct WaitingLedger {
    static let rules = """
        rules:
          - rule: hold
            on: [task_created, task_changed, task_returned]
            when: "!(task.title.endsWith('0') || task.title.endsWith('1') || task.title.endsWith('2'))"
            for: 20m
            do: [{log: "${{ event.id }} ${{ task.id }}"}]
          - rule: each
            on: {every: 10m}
            each: tasks.filter(t, t.title.endsWith('5') || t.title.endsWith('6') || t.title.endsWith('7'))
            do: [{log: "${{ event.id }} ${{ task.id }}"}]
          - rule: count
            on: [task_created, task_changed, task_removed, task_returned]
            count: {at_least: 3, within: 1h, by: task.class}
            do: [{log: "${{ events.map(e, e.id).join(' ') }}"}]
          - rule: group
            on: [task_created, task_changed, task_removed, task_returned]
            group: {by: task.class, wait: 10m, every: 30m, max: 4}
            do: [{log: "${{ events.map(e, e.id).join(' ') }}"}]
          - rule: chain
            on: [task_created, task_changed, task_returned]
            when: "!(task.title.endsWith('0') || task.title.endsWith('1') || task.title.endsWith('2'))"
            for: 15m
            count: {at_least: 2, within: 4h}
            group: {wait: 5m}
            do: [{log: "${{ events.map(e, e.id).join(' ') }}"}]
          - rule: digest
            on: {every: 25m}
            do: [{log: "told ${{ events.map(e, e.id).join(' ') }}"}]
          - rule: tell
            on: [task_created, task_changed, task_removed, task_returned]
            do: [{notify: {to: ops, title: "${{ event.id }}"}, retry: {attempts: 200, max_wait: 5m}}]
          \(patternRules)
          \(limitRules)
        """

    /// Messages are kept back for a while of each half hour.
    static let silences = """
        silences:
          - {receivers: [ops], schedule: "*/30 * * * *", for: 20m, reason: test}
        """

    static let minute: Int64 = 60_000_000

    struct Fact {
        var id, type, task, kind: String
        /// Whether the condition of `hold` and `chain` holds.
        var holds: Bool
        /// In microseconds.
        var time: Int64

        init?(_ event: JSON) {
            guard let id = event["id"]?.asString, let type = event["type"]?.asString, type.hasPrefix("task_"),
                let task = event.at("data", "task", "id")?.asString,
                let time = event["time"]?.asString.flatMap({ Timestamp(rfc3339: $0) })
            else { return nil }
            (self.id, self.type, self.task) = (id, type, task)
            kind = event.at("data", "task", "class")?.asString ?? ""
            let title = event.at("data", "task", "title")?.asString ?? ""
            holds = !["0", "1", "2"].contains { title.hasSuffix($0) }
            self.time = time.microseconds
        }
    }

    /// A run of a rule, read from its delivery.
    struct Run {
        var words: [String]
        var created: Int64
    }

    let events: [JSON]
    let facts: [Fact]
    let deliveries: [JSON]
    private let passes: [ClosedRange<Int64>]

    init(_ ordeal: Ordeal) async throws {
        events = try await ordeal.stage.events()
        facts = events.compactMap { Fact($0) }
        deliveries = try await ordeal.stage.deliveries()
        passes = ordeal.passes
    }

    func runs(of rule: String) -> [Run] {
        deliveries.filter { $0["rule"]?.asString == rule }.compactMap { delivery in
            guard let text = delivery.at("arguments", "text")?.asString,
                let created = delivery["created"]?.asString.flatMap({ Timestamp(rfc3339: $0) })
            else { return nil }
            return Run(words: text.split(separator: " ").map(String.init), created: created.microseconds)
        }
    }

    /// Records an issue for each run that was lost, doubled or early. Returns how many runs there were.
    func check(sourceLocation place: SourceLocation = #_sourceLocation) -> Int {
        checkWaits(of: "hold", intervals, span: 20, place)
        #expect(runs(of: "count").map(\.words) == counted, "counts", sourceLocation: place)
        checkGroups(place)
        checkDigests(place)
        checkSilences(place)
        checkPatterns(place)
        checkEscalations(place)
        checkQuiet(place)
        checkLimits(place)
        let each = runs(of: "each").map(\.words)
        #expect(Set(each).count == each.count, "a run for an element was doubled", sourceLocation: place)
        #expect(!each.isEmpty, "no run for an element", sourceLocation: place)
        let chained = runs(of: "chain").flatMap(\.words)
        #expect(Set(chained).count == chained.count, "a run of the chain was doubled", sourceLocation: place)
        let rules = [
            "hold", "each", "count", "group", "chain", "digest", "pair", "absence", "page", "kept", "row", "silent", "standing",
            "differing", "seldom", "first", "canary",
        ]
        return rules.reduce(0) { $0 + runs(of: $1).count }
    }

    // MARK: for

    /// The times in which the condition held: from the event that began it to the one that ended it, if any.
    private var intervals: [(begin: Fact, end: Fact?)] {
        var open: [String: Fact] = [:]
        var all: [(begin: Fact, end: Fact?)] = []
        for fact in facts {
            if fact.holds, fact.type != "task_removed" {
                if open[fact.task] == nil { open[fact.task] = fact }
            } else if let begin = open.removeValue(forKey: fact.task) {
                all.append((begin, fact))
            }
        }
        return all + open.values.map { ($0, nil) }
    }

    /// Checks that each wait ran once if it came due and nothing had ended it, not early, and not after its end.
    ///
    /// - Parameter span: how long the rule waits, in minutes.
    func checkWaits(of rule: String, _ intervals: [(begin: Fact, end: Fact?)], span: Int64, _ place: SourceLocation) {
        var runs = Dictionary(grouping: runs(of: rule)) { $0.words.first ?? "" }
        var required = 0
        for (begin, end) in intervals {
            let own = runs.removeValue(forKey: begin.id) ?? []
            let due = begin.time + span * Self.minute
            #expect(own.count <= 1, "\(rule): the wait of \(begin) ended \(own.count) times", sourceLocation: place)
            for run in own {
                #expect(run.words.last == begin.task, sourceLocation: place)
                #expect(run.created >= due, "\(rule): \(begin) ran early", sourceLocation: place)
                #expect(end.map { $0.time >= run.created } ?? true, "\(rule): \(begin) ran after its end", sourceLocation: place)
            }
            if mustHaveRun(due: due, before: end) {
                required += 1
                #expect(own.count == 1, "\(rule): the run of \(begin) was lost", sourceLocation: place)
            }
        }
        #expect(runs.isEmpty, "\(rule): runs of events that began no wait: \(runs.keys)", sourceLocation: place)
        #expect(required > 0, "\(rule): no wait had to run", sourceLocation: place)
    }

    /// Whether an undisturbed pass lies between the time at which a wait was due and its end. The events' times are shown to the second.
    func mustHaveRun(due: Int64, before end: Fact?) -> Bool {
        passes.contains { $0.lowerBound >= due + 2_000_000 && $0.upperBound < end?.time ?? .max }
    }

    // MARK: count and group

    private var counted: [[String]] {
        var windows: [String: [Fact]] = [:]
        var runs: [[String]] = []
        for fact in facts {
            let window = windows[fact.kind, default: []].filter { fact.time < $0.time + 60 * Self.minute } + [fact]
            if window.count >= 3 { runs.append(window.map(\.id)) }
            windows[fact.kind] = window.count >= 3 ? [] : window
        }
        return runs
    }

    private func checkGroups(_ place: SourceLocation) {
        struct Group {
            var events: [String] = []
            var due: Int64 = 0
            var last = Int64.min / 2
        }
        var groups: [String: Group] = [:]
        var flushes: [(events: [String], due: Int64)] = []
        let made = Dictionary(grouping: runs(of: "group"), by: \.words)
        func flush(_ kind: String, at time: Int64, isOfTimer: Bool = true) {
            guard let group = groups[kind] else { return }
            flushes.append((group.events, time))
            let run = made[group.events]?.first?.created ?? time
            // The interval counts from a timer's flush if it is over a minute late.
            groups[kind] = Group(last: isOfTimer && run - time > Self.minute ? run : time)
        }
        for fact in facts {
            for (kind, group) in groups where !group.events.isEmpty && group.due <= fact.time { flush(kind, at: group.due) }
            var group = groups[fact.kind] ?? Group()
            if group.events.isEmpty { group.due = max(fact.time + 10 * Self.minute, group.last + 30 * Self.minute) }
            group.events.append(fact.id)
            groups[fact.kind] = group
            if group.events.count >= 4 { flush(fact.kind, at: fact.time, isOfTimer: false) }
        }
        let end = passes.last?.lowerBound ?? 0
        for (kind, group) in groups where !group.events.isEmpty && group.due <= end { flush(kind, at: group.due) }
        for flush in flushes {
            let own = made[flush.events] ?? []
            #expect(own.count == 1, "a group of \(flush.events) flushed \(own.count) times", sourceLocation: place)
            // The events' times are shown to the second.
            #expect(own.allSatisfy { $0.created + 1_000_000 >= flush.due }, "a group flushed early", sourceLocation: place)
        }
        #expect(made.count == flushes.count, "unexpected groups", sourceLocation: place)
    }

    // MARK: Digests

    private func checkDigests(_ place: SourceLocation) {
        let runs = runs(of: "digest")
        let due = events.filter { $0["type"] == "schedule_due" && $0["source"] == "digest" }
        #expect(runs.count == due.count, "digests", sourceLocation: place)
        let last = due.last?["sequence"]?.asInt ?? 0
        let expected = events.filter { ($0["sequence"]?.asInt ?? 0) < last }.compactMap { Fact($0)?.id }
        // In the order of the bus, each exactly once.
        let found = runs.flatMap(\.words).filter(Set(facts.map(\.id)).contains)
        #expect(found == expected, "events of digests", sourceLocation: place)
    }

    // MARK: Silences

    private func checkSilences(_ place: SourceLocation) {
        func ids(_ type: String) -> [String] {
            events.filter { $0["type"]?.asString == type }.compactMap { $0.at("data", "silence", "id")?.asString }
        }
        let (started, ended) = (ids("silence_started"), ids("silence_ended"))
        #expect(Set(started).count == started.count && !started.isEmpty, "silences began twice", sourceLocation: place)
        #expect(
            Set(ended).count == ended.count && Set(ended).isSubset(of: started), "silences ended twice", sourceLocation: place)
        let kept = Dictionary(grouping: deliveries.filter { $0["state"] == "silenced" }) { $0["silence"]?.asString ?? "" }
        for event in events where event["type"] == "silence_ended" {
            let silence = event.at("data", "silence")
            let own = kept[silence?["id"]?.asString ?? ""] ?? []
            #expect(silence?["kept"]?.asInt == Int64(own.count), "deliveries kept back by a silence", sourceLocation: place)
        }
        #expect(Set(kept.keys).isSubset(of: started), sourceLocation: place)
        let titles = deliveries.filter { $0["rule"] == "tell" }.compactMap { $0.at("message", "title")?.asString }
        #expect(titles.sorted() == facts.map(\.id).sorted(), "messages, sent or kept back", sourceLocation: place)
    }
}
