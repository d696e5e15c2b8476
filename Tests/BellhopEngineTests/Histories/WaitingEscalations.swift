import BellhopCore

/// The part of `WaitingModel` for `escalate`.
///
/// Each step logs the version of its rule at the run: an escalation keeps the steps of its run.
struct WaitingEscalations {
    /// The rules by their letters, in YAML.
    static let rules = [
        "e": """
        rule: e
        on: [task_created, task_changed]
        when: task.priority == 1 && WHEN
        do: [{notify: {to: pager, title: "e ${{ task.id }}", thread: "${{ task.id }}"}}]
        escalate:
          - {after: 5m, repeat: {every: 3m, times: 2}, do: [{log: "e1 ${{ task.id }} ACTION"}]}
          - {after: 2m, do: [{log: "e0 ${{ task.id }} ACTION"}]}
        """,
        "f": """
        rule: f
        on: [task_created, task_changed]
        when: task.priority == 1 && WHEN
        do: [{log: "f ${{ task.id }} ACTION"}]
        until: task.priority == 2
        escalate:
          - {after: 3m, do: [{log: "f0 ${{ task.id }} ACTION"}]}
          - {after: 9m, do: [{log: "f1 ${{ task.id }} ACTION"}]}
        """,
    ]

    private struct Escalation {
        /// The line of each step, with the minutes at which it runs.
        var steps: [(text: String, times: [Int])]

        var isOver: Bool { steps.allSatisfy(\.times.isEmpty) }
        /// The place of the next step, and when it is due.
        var next: (place: Int, due: Int)? {
            steps.indices.compactMap { place in steps[place].times.first.map { (place, $0) } }.min { $0.1 < $1.1 }
        }

        /// Runs the step. Of missed repetitions, one runs.
        mutating func take(_ place: Int, at now: Int) -> String {
            steps[place].times.removeFirst()
            while let due = steps[place].times.first, due <= now { steps[place].times.removeFirst() }
            return steps[place].text
        }
    }

    /// By rule and task. Those of e stay after their last step, because an answer closes their pages.
    private var escalations: [String: [String: Escalation]] = [:]
    /// The version of the `do` of each present rule.
    private var actions = ["e": 0, "f": 0]

    /// Reloads the rules. Escalations keep their steps; those of a removed rule end and close nothing.
    mutating func load(_ versions: [String: WaitingModel.Version]) {
        for rule in Self.rules.keys {
            let version = versions[rule] ?? WaitingModel.Version()
            actions[rule] = version.isPresent ? version.action : nil
            if !version.isPresent { escalations[rule] = nil }
        }
    }

    /// Applies an event: it ends escalations first, then may begin new ones. Returns the logged lines.
    mutating func apply(_ kind: WaitingModel.Kind, _ id: String, _ priority: Int, at now: Int) -> [String] {
        var log: [String] = []
        if kind == .removed || kind == .changed, escalations["e"]?.removeValue(forKey: id) != nil {
            log.append("pager closes \(id)")
        }
        if kind == .removed { escalations["f"]?[id] = nil }
        guard kind == .created || kind == .changed, priority == 1 else { return log }
        if let action = actions["e"] {
            log.append("pager: e \(id)")
            escalations["e", default: [:]][id] = Escalation(
                steps: [("e0 \(id) \(action)", [now + 2]), ("e1 \(id) \(action)", [now + 5, now + 8, now + 11])])
        }
        if let action = actions["f"] {
            log.append("f \(id) \(action)")
            if escalations["f"]?[id]?.isOver ?? true {
                escalations["f", default: [:]][id] = Escalation(
                    steps: [("f0 \(id) \(action)", [now + 3]), ("f1 \(id) \(action)", [now + 9])])
            }
        }
        return log
    }

    /// Runs the due steps in their order. Returns the logged lines.
    ///
    /// - Parameter tasks: the tasks' priorities.
    mutating func fire(_ tasks: [String: Int], at now: Int, _ isDue: (Int) -> Bool) -> [String] {
        var log: [String] = []
        for (rule, ofRule) in escalations {
            for id in ofRule.keys {
                while let next = escalations[rule]?[id]?.next, isDue(next.due) {
                    if rule == "e" ? tasks[id] != 1 : tasks[id] == 2 {
                        escalations[rule]?[id] = nil
                        break
                    }
                    if let text = escalations[rule]?[id]?.take(next.place, at: now) { log.append(text) }
                }
            }
        }
        return log
    }
}
