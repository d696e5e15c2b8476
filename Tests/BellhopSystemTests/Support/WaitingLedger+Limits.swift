import BellhopCore
import Testing

/// Rules that run for only some events or tasks.
extension WaitingLedger {
    static let limitRules = """
        - rule: differing
            on: [task_created, task_changed, task_returned]
            count: {at_least: 3, within: 50m, by: task.class, distinct: task.id}
            do: [{log: "${{ events.map(e, e.id).join(' ') }}"}]
          - rule: seldom
            on: [task_created, task_changed, task_removed, task_returned]
            throttle: {every: 10m, by: task.class}
            do: [{log: "${{ event.id }}"}]
          - rule: first
            on: task_changed
            once: task.id
            do: [{log: "${{ event.id }}"}]
          - rule: canary
            on: [task_created, task_changed, task_removed, task_returned]
            mode: {canary: 50%}
            do: [{log: "${{ event.id }}"}]

        """

    func checkLimits(_ place: SourceLocation) {
        #expect(runs(of: "differing").map(\.words) == differing, "counts of different tasks", sourceLocation: place)
        #expect(runs(of: "seldom").map(\.words) == seldom, "throttled runs", sourceLocation: place)
        var seen: Set<String> = []
        let first = facts.filter { $0.type == "task_changed" && seen.insert($0.task).inserted }.map { [$0.id] }
        #expect(runs(of: "first").map(\.words) == first, "first changes of tasks", sourceLocation: place)
        checkCanary(place)
    }

    /// Of each class, three different tasks within the time. A task counts once, by its latest event.
    private var differing: [[String]] {
        var windows: [String: [Fact]] = [:]
        var runs: [[String]] = []
        for fact in facts where fact.type != "task_removed" {
            let window = windows[fact.kind, default: []].filter { fact.time < $0.time + 50 * Self.minute && $0.task != fact.task }
            windows[fact.kind] = window.count >= 2 ? [] : window + [fact]
            if window.count >= 2 { runs.append((window + [fact]).map(\.id)) }
        }
        return runs
    }

    /// A throttle counts from the time of the decision. The message of `tell` for the same event was created at that time.
    private var seldom: [[String]] {
        var decided: [String: Int64] = [:]
        for delivery in deliveries where delivery["rule"] == "tell" {
            guard let id = delivery.at("message", "title")?.asString else { continue }
            decided[id] = delivery["created"]?.asString.flatMap { Timestamp(rfc3339: $0) }?.microseconds
        }
        var last: [String: Int64] = [:]
        return facts.filter { fact in
            guard let now = decided[fact.id], last[fact.kind].map({ now >= $0 + 10 * Self.minute }) ?? true else { return false }
            last[fact.kind] = now
            return true
        }.map { [$0.id] }
    }

    /// Each event has one run, which is live for the tasks of the share and recorded for the others.
    private func checkCanary(_ place: SourceLocation) {
        let made = deliveries.filter { $0["rule"] == "canary" }.map { delivery in
            "\(delivery.at("arguments", "text")?.asString ?? "") \(delivery["state"]?.asString ?? "")"
        }
        let expected = facts.map { fact in
            "\(fact.id) \(Canary(percent: 50).includes(fact.task, of: "canary") ? "done" : "shadow")"
        }
        #expect(made.sorted() == expected.sorted(), "runs of a canary", sourceLocation: place)
    }
}
