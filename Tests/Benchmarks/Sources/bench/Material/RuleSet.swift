import BellhopConnectors
import BellhopCore
import BellhopRules

/// Many realistic rules, each for a different team, person or reporter, and events of which one in ten matches exactly one rule.
struct RuleSet: Sendable {
    var count: Int
    /// The address of their webhooks.
    var hook = "http://127.0.0.1:9/hook"
    /// Whether every fifth rule also waits, counts, groups or reacts to an absence.
    var hasWaits = false

    /// The rules that run at most once an hour.
    var throttled = Throttled.none

    enum Throttled { case none, everyFifth, all }

    /// The numbers of the rules that wait.
    var waiting: [Int] { Array(stride(from: 0, to: count, by: 5)) }

    /// The parts of a rule beside its condition and its step: its events, and the key that makes it wait.
    private typealias Time = (on: String, more: String)

    private static let plain: Time = ("[task_created, task_changed]", "")
    private static let waits: [Time] = [
        (plain.on, "for: 10m\n"), (plain.on, "count: {at_least: 5, within: 10m, by: task.assignment_group, distinct: task.id}\n"),
        (plain.on, "group: {by: task.assignment_group, wait: 30s, max: 100}\n"),
        ("{none: task_commented, after: \(plain.on), within: 10m, by: task.id}", ""),
    ]

    private func time(_ number: Int) -> Time {
        if throttled == .all || throttled == .everyFifth && number % 5 == 0 { return (Self.plain.on, "throttle: {every: 1h}\n") }
        return hasWaits && number % 5 == 0 ? Self.waits[number / 5 % Self.waits.count] : Self.plain
    }

    /// The fields that distinguish one rule's tasks from another's.
    private enum Kind: Int, CaseIterable { case group, owner, both }

    private func kind(_ number: Int) -> Kind { Kind.allCases[number % Kind.allCases.count] }

    /// The ids of a group and a user: names in their place would be a mistake that `bellhop check` warns about.
    static func group(_ number: Int) -> String { "2\(100_000 + number)" }
    static func owner(_ number: Int) -> String { "3\(100_000 + number)" }

    func text(_ number: Int) -> String {
        let condition =
            switch kind(number) {
            case .group: #"task.class == "incident" && task.assignment_group == "\#(Self.group(number))" && task.priority <= 2"#
            case .owner: #"task.assigned_to == "\#(Self.owner(number))" && task.priority == 1 && task.title.contains("printer")"#
            case .both: #"task.assignment_group == "\#(Self.group(number))" && task.assigned_to != "" && task.priority in [1, 2]"#
            }
        let time = time(number)
        return """
            rule: team-\(number)
            description: Tell team \(number) about what is urgent.
            on: \(time.on)
            when: \(condition)
            \(time.more)do:
              - webhook:
                  url: \(hook)
                  json: {number: "${{ task.number }}", title: "${{ task.title }}", priority: "${{ task.priority }}", link: "${{ task.url }}"}

            """
    }

    var files: [RuleFile] { (0..<count).map { RuleFile(path: "rules/team-\($0).yaml", bytes: Array(text($0).utf8)) } }

    func book() throws -> RuleBook { try RuleBook.load(files, context: Self.context) }

    static func book(_ text: String) throws -> RuleBook {
        try RuleBook.load([RuleFile(path: "rules/bench.yaml", bytes: Array(text.utf8))], context: context)
    }

    /// Events about tasks: one in ten matches one rule, four in ten match a rule except for their priority, five match no rule.
    /// - Parameter hit: the numbers of the rules that they match; nil for all.
    func events(_ total: Int, seed: UInt64, at time: Timestamp, hitting hit: [Int]? = nil) -> [Event] {
        Tasks.keys(total, seed: seed).enumerated().map { number, key in
            var (group, owner, priority) = (Self.group(90_000 + number % 50), Self.owner(90_000 + number % 50), Int64(3))
            if number % 10 < 5 {
                let rule = hit.map { $0[number / 10 % $0.count] } ?? number / 10 % count
                switch kind(rule) {
                case .group, .both: group = Self.group(rule)
                case .owner: owner = Self.owner(rule)
                }
                if number % 10 == 0 { priority = 1 }
            }
            let snapshot = Tasks.snapshot(number, key: key, group: group, owner: owner, priority: priority)
            return Tasks.event(number % 4 == 3 ? .taskChanged : .taskCreated, snapshot, at: time)
        }
    }

    static var context: RuleContext {
        RuleContext(
            sources: [
                .init(
                    name: Tasks.source, kind: "tracker", connection: "snow", schema: Tasks.schema, scope: Tasks.scope.id,
                    user: Tasks.scope.user)
            ],
            connections: [.init(name: "snow", kind: "servicenow", actions: ["comment"])], actions: [WebhookAction.manifest],
            timeZone: .utc, timeZoneName: "UTC", zone: { $0 == "UTC" ? .utc : nil })
    }
}
