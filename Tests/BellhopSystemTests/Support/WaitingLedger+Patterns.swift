import BellhopCore
import Testing

/// Rules of several events, escalations and quiet times.
extension WaitingLedger {
    static let patternRules = """
        - rule: pair
            on: {all: [task_created, task_changed], within: 1h, by: task.id}
            do: [{log: "${{ events.map(e, e.id).join(' ') }}"}]
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

    func checkPatterns(_ place: SourceLocation) {
        checkWaits(of: "absence", absences, span: 20, place)
        #expect(runs(of: "pair").map(\.words) == pairs, "pairs of events", sourceLocation: place)
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
        #expect(required > 0, "no step had to come", sourceLocation: place)
    }

    func checkQuiet(_ place: SourceLocation) {
        let all = deliveries.filter { $0["rule"] == "kept" }
        let titles = all.compactMap { $0.at("message", "title")?.asString }
        let told = titles.filter { facts.map(\.id).contains($0) }
        let created = facts.filter { $0.type == "task_created" }.map(\.id)
        #expect(told.sorted() == created.sorted(), "messages, sent or held", sourceLocation: place)
        let held = all.filter { $0["receipt"]?.asString?.hasPrefix("sent with others") ?? false }
        let gathered = deliveries.filter { $0["name"] == "kept back messages" }.map { "\($0["message"] ?? .null)" }.joined()
        for message in held {
            let title = message.at("message", "title")?.asString ?? "?"
            #expect(
                gathered.split(separator: title, omittingEmptySubsequences: false).count == 2, "\(title) was not sent once",
                sourceLocation: place)
        }
    }
}
