import BellhopCore
import BellhopRules

/// Rules that emit events of a declared type, and rules that run on them, up to the last link of a chain.
struct EmitExplanationModel: ExplanationModel {
    static func rules(_ version: Int) -> String {
        """
        rule: tell
        on: task_created
        do: [{emit: {type: ping, data: {task: "${{ task.id }}"}}, if: "\(version) >= 0"}]
        ---
        rule: urgent
        on: task_changed
        when: task.priority == 1
        throttle: {every: 4m}
        do: [{emit: {type: ping, data: {task: "${{ task.id }}"}}}, {log: "urgent\(version)"}]
        ---
        rule: hear
        on: ping
        when: event.data.task != 'c'
        do: [{log: "hear\(version)"}]
        ---
        rule: once
        on: ping
        once: event.data.task
        do: [{log: "once\(version)"}]
        ---
        rule: echo
        on: ping
        when: event.data.task == 'a'
        do: [{emit: {type: ping, data: {task: a}}, if: "\(version) >= 0"}]
        ---
        rule: both
        on: [task_removed, ping]
        count: {at_least: 2, within: 6m}
        do: [{log: "both\(version)"}]
        """
    }

    static let own: EventType? = EventType("ping")
    /// A chain ends after five.
    private static let lastHop = 5

    private struct Ping {
        var task: String
        var hop: Int
    }

    private(set) var expected: [[String: Expected]] = []
    private(set) var expectedOfOwn: [[String: Expected]] = []
    private var lastUrgent: TaskChange?
    /// The number of the ping for which `once` ran.
    private var heard: [String: Int] = [:]
    /// The counted events: their places among the pings or among the changes.
    private var counted: [(at: Int, ping: Int?, change: Int?)] = []

    mutating func apply(_ event: TaskChange) {
        var expected = Dictionary(
            uniqueKeysWithValues: ["tell", "urgent", "hear", "once", "echo", "both"].map { ($0, Expected(.type)) })
        var pings: [Ping] = []
        if event.kind == .created {
            expected["tell"] = Expected(.ran)
            pings.append(Ping(task: event.id, hop: 1))
        }
        if event.kind == .changed {
            if event.fields.priority != 1 {
                expected["urgent"] = Expected(.conditionFalse)
            } else if let last = lastUrgent, event.minute < last.minute + 4 {
                expected["urgent"] = Expected(.throttled, names: last.number)
            } else {
                expected["urgent"] = Expected(.ran, deliveries: 2)
                lastUrgent = event
                pings.append(Ping(task: event.id, hop: 1))
            }
        }
        if event.kind == .removed { expected["both"] = count(at: event.minute, change: event.number) }
        self.expected.append(expected)
        // An emitted event comes after the events that were already there.
        while !pings.isEmpty {
            let ping = pings.removeFirst()
            if hear(ping, at: event.minute) { pings.append(Ping(task: ping.task, hop: ping.hop + 1)) }
        }
    }

    /// Returns whether another event is emitted.
    private mutating func hear(_ ping: Ping, at now: Int) -> Bool {
        var expected = ["tell": Expected(.type, "does not name `ping`"), "urgent": Expected(.type, "does not name `ping`")]
        expected["hear"] = Expected(ping.task == "c" ? .conditionFalse : .ran)
        let isFirst = heard[ping.task] == nil
        expected["once"] = Expected(isFirst ? .ran : .once, isFirst ? "" : "for the key \"\(ping.task)\"")
        heard[ping.task] = heard[ping.task] ?? expectedOfOwn.count
        let isEcho = ping.task == "a"
        let isLast = ping.hop == Self.lastHop
        expected["echo"] =
            !isEcho ? Expected(.conditionFalse) : isLast ? Expected(.loop, "5 writes or events of rules led to") : Expected(.ran)
        expected["both"] = count(at: now, ping: expectedOfOwn.count)
        expectedOfOwn.append(expected)
        return isEcho && !isLast
    }

    private mutating func count(at now: Int, ping: Int? = nil, change: Int? = nil) -> Expected {
        counted = counted.filter { now < $0.at + 6 } + [(now, ping, change)]
        if counted.count < 2 { return Expected(.counting, "`count` has 1 of 2").until(now + 6, "`count` did not reach 2") }
        let usedUp = Expected(.usedUp, names: change, at: now, "`count` had enough")
        if let first = counted[0].ping { expectedOfOwn[first]["both"] = usedUp }
        if let first = counted[0].change { expected[first]["both"] = usedUp }
        counted = []
        return Expected(.ran)
    }
}
