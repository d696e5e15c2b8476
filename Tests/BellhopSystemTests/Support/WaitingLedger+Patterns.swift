import BellhopCore
import Testing

/// Rules of several events, escalations and quiet times.
extension WaitingLedger {
    static let patternRules = """
        - rule: pair
            on: {all: [task_created, task_changed], within: 1h, by: task.id}
            do: [{log: "${{ events.map(e, e.id).join(' ') }}"}]
          - rule: row
            on: {sequence: [task_created, [task_changed, task_removed], task_changed], within: 110m, by: task.class}
            do: [{log: "${{ events.map(e, e.id).join(' ') }}"}]
          - rule: silent
            on: {none: task_created, within: 25m}
            do: [{log: "${{ since }}"}]
          - rule: absence
            on: {none: task_changed, after: task_created, within: 20m, by: task.id}
            do: [{log: "${{ event.id }} ${{ task.id }}"}]
          - rule: page
            on: task_created
            do: [{log: "${{ event.id }} run"}]
            escalate:
              - {after: 10m, do: [{log: "${{ event.id }} first"}]}
              - {after: 20m, repeat: {every: 10m, times: 2}, do: [{log: "${{ event.id }} again"}]}
          - rule: kept
            on: task_created
            quiet: {hours: "00:30-01:00, 02:30-03:00, 04:30-05:00, 06:30-07:00, 08:30-09:00, 10:30-11:00, 12:30-13:00, 14:30-15:00, 16:30-17:00, 18:30-19:00, 20:30-21:00, 22:30-23:00"}
            do: [{notify: {to: team, title: "${{ event.id }}"}, retry: {attempts: 200, max_wait: 5m}}]

        """

    /// A rule that is loaded when there are tasks already.
    static let standingRule = """
        rule: standing
        on: task_returned
        when: "!(task.title.endsWith('0') || task.title.endsWith('1') || task.title.endsWith('2'))"
        for: {time: 20m, existing: true}
        do: [{log: "${{ since }} ${{ task.id }}"}]

        """

    func checkPatterns(_ place: SourceLocation) {
        checkWaits(of: "absence", absences, span: 20, place)
        #expect(runs(of: "pair").map(\.words) == pairs, "pairs of events", sourceLocation: place)
        #expect(runs(of: "row").map(\.words) == rows, "sequences of events", sourceLocation: place)
        checkSilence(place)
        checkStanding(place)
    }

    /// From each event that creates a task until it changes or leaves, if it does.
    private var absences: [(begin: Fact, end: Fact?)] {
        facts.indices.filter { facts[$0].type == "task_created" }.map { index in
            let end = facts[index...].first {
                ["task_changed", "task_removed"].contains($0.type) && $0.task == facts[index].task
            }
            return (facts[index], end)
        }
    }

    /// A creation and the first change after it, within the hour: no task is created twice.
    private var pairs: [[String]] {
        var created: [String: Fact] = [:]
        var pairs: [[String]] = []
        for fact in facts {
            switch fact.type {
            case "task_created": created[fact.task] = fact
            case "task_changed":
                guard let begin = created.removeValue(forKey: fact.task), fact.time < begin.time + 60 * Self.minute else {
                    continue
                }
                pairs.append([begin.id, fact.id])
            default: break
            }
        }
        return pairs
    }

    /// Each event goes to the oldest sequence of its class that expects it and is in time. A creation that fits no sequence begins one.
    private var rows: [[String]] {
        let entries: [Set<String>] = [["task_created"], ["task_changed", "task_removed"], ["task_changed"]]
        var open: [String: [[Fact]]] = [:]
        var rows: [[String]] = []
        for fact in facts {
            var own = open[fact.kind, default: []].filter { fact.time < $0[0].time + 110 * Self.minute }
            if let fitting = own.firstIndex(where: { entries[$0.count].contains(fact.type) }) {
                own[fitting].append(fact)
                if own[fitting].count == entries.count { rows.append(own.remove(at: fitting).map(\.id)) }
            } else if entries[0].contains(fact.type) {
                own.append([fact])
            }
            open[fact.kind] = own
        }
        return rows
    }

    /// Checks that each period without a new task had one run, not early, and not after the next new task. The first period began
    /// when the rule was loaded.
    private func checkSilence(_ place: SourceLocation) {
        let created = facts.filter { $0.type == "task_created" }
        var runs = Dictionary(grouping: runs(of: "silent"), by: Self.since)
        for (index, begin) in created.enumerated() {
            let end = created.dropFirst(index + 1).first
            // If several tasks are created at one moment, the last one begins the silence.
            if end?.time == begin.time { continue }
            check(
                "silent", runs.removeValue(forKey: begin.time / 1_000_000) ?? [], from: (begin, begin.time), to: end, span: 25,
                place)
        }
        let first = created.first?.time ?? 0
        #expect(
            runs.isEmpty || runs.count == 1 && runs.allSatisfy { $0.key * 1_000_000 <= first && $0.value.count == 1 },
            "unexpected silences: \(runs)", sourceLocation: place)
    }

    /// Tasks that exist when the rule is loaded wait from then on, without an event of `on`; tasks that return wait from their return.
    private func checkStanding(_ place: SourceLocation) {
        let lasting = Set(facts.filter { $0.kind == "problem" }.map(\.task))
        var runs = Dictionary(grouping: runs(of: "standing")) { "\($0.words.last ?? "") \(Self.since($0))" }
        // The waits of the tasks that never change began when the rule was loaded.
        let loads = Set(runs.values.joined().filter { lasting.contains($0.words.last ?? "") }.map(Self.since))
        guard let load = loads.first.map({ $0 * 1_000_000 }), loads.count == 1 else {
            Issue.record("the rule was loaded at \(loads)", sourceLocation: place)
            return
        }
        var open: [String: (fact: Fact, time: Int64)] = [:]
        func close(_ begin: (fact: Fact, time: Int64), at end: Fact?) {
            let key = "\(begin.fact.task) \(begin.time / 1_000_000)"
            check("standing", runs.removeValue(forKey: key) ?? [], from: begin, to: end, span: 20, place)
        }
        for fact in facts {
            let isBefore = fact.time < load
            if fact.holds, fact.type != "task_removed" {
                if isBefore || fact.type == "task_returned", open[fact.task] == nil {
                    open[fact.task] = (fact, max(fact.time, load))
                }
            } else if let begin = open.removeValue(forKey: fact.task), !isBefore {
                close(begin, at: fact)
            }
        }
        #expect(lasting.count == 2 && lasting.isSubset(of: open.keys), "tasks that never change", sourceLocation: place)
        for begin in open.values { close(begin, at: nil) }
        #expect(runs.isEmpty, "standing: unexpected runs: \(runs)", sourceLocation: place)
    }

    /// The second in which the wait of a run began.
    private static func since(_ run: Run) -> Int64 {
        (run.words.first.flatMap { Timestamp(rfc3339: $0) }?.microseconds ?? 0) / 1_000_000
    }

    /// Checks that a wait ran once if it came due and nothing had ended it, not early, and not after its end.
    private func check(
        _ rule: String, _ runs: [Run], from begin: (fact: Fact, time: Int64), to end: Fact?, span: Int64, _ place: SourceLocation
    ) {
        let due = begin.time + span * Self.minute
        #expect(runs.count <= 1, "\(rule): the wait of \(begin.fact) ended \(runs.count) times", sourceLocation: place)
        for run in runs {
            #expect(run.created >= due, "\(rule): \(begin.fact) ran early", sourceLocation: place)
            #expect(end.map { $0.time >= run.created } ?? true, "\(rule): \(begin.fact) ran after its end", sourceLocation: place)
        }
        if mustHaveRun(due: due, before: end) {
            #expect(runs.count == 1, "\(rule): the run of \(begin.fact) was lost", sourceLocation: place)
        }
    }

    func checkEscalations(_ place: SourceLocation) {
        let made = Dictionary(grouping: runs(of: "page")) { $0.words.joined(separator: " ") }
        var required = 0
        for (begin, end) in absences {
            let first = made["\(begin.id) first"] ?? []
            let again = made["\(begin.id) again"] ?? []
            #expect(made["\(begin.id) run"]?.count == 1, "the run of \(begin)", sourceLocation: place)
            #expect(first.count <= 1 && again.count <= 3, "steps of \(begin) came twice", sourceLocation: place)
            for (steps, span) in [(first, 10 as Int64), (again, 20)] {
                let due = begin.time + span * Self.minute
                #expect(steps.allSatisfy { $0.created >= due }, "a step of \(begin) came early", sourceLocation: place)
                let isEnded = steps.contains { step in end.map { $0.time < step.created } ?? false }
                #expect(!isEnded, "a step of \(begin) came after its end", sourceLocation: place)
                if mustHaveRun(due: due, before: end) {
                    required += 1
                    #expect(!steps.isEmpty, "a step of \(begin) was lost", sourceLocation: place)
                }
            }
        }
        #expect(required > 0, "no step was due", sourceLocation: place)
    }

    func checkQuiet(_ place: SourceLocation) {
        let all = deliveries.filter { $0["rule"] == "kept" }
        let titles = all.compactMap { $0.at("message", "title")?.asString }
        let single = titles.filter { facts.map(\.id).contains($0) }
        let created = facts.filter { $0.type == "task_created" }.map(\.id)
        #expect(single.sorted() == created.sorted(), "messages, sent or held", sourceLocation: place)
        let held = all.filter { $0["joined"] != nil }
        let gathered = deliveries.filter { $0["name"] == "kept back messages" }.map { "\($0["message"] ?? .null)" }.joined()
        for message in held {
            let title = message.at("message", "title")?.asString ?? "?"
            #expect(
                gathered.split(separator: title, omittingEmptySubsequences: false).count == 2, "\(title) was not sent once",
                sourceLocation: place)
        }
    }
}
