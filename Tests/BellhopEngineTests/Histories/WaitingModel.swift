import BellhopCore
import BellhopTesting

/// A model of rules that wait, count and gather, written from the documentation of the format, not from the program.
///
/// Each rule logs its letter and the ids of the tasks whose events led to the run.
struct WaitingModel {
    /// The rules' letters, in the order of the file.
    static let letters = ["h", "c", "d", "g", "x"] + WaitingPatterns.rules.keys.sorted() + WaitingEscalations.rules.keys.sorted()

    /// The present text of a rule. The meaning of its condition and its `do` is always the same; their text changes.
    struct Version {
        var (condition, action) = (0, 0)
        var isPresent = true
    }

    static func rules(_ versions: [String: Version] = [:]) -> String {
        letters.compactMap { letter in
            let version = versions[letter] ?? Version()
            guard version.isPresent else { return nil }
            return rule(letter).replacing("WHEN", with: "task.id != 'v\(version.condition)'")
                .replacing("CONDITION", with: "\(version.condition)").replacing("ACTION", with: "\(version.action)")
        }.joined(separator: "\n---\n")
    }

    /// The rules without the texts that reloads change, and with that of `QuietModel`.
    static let plainRules = (letters.map(plainRule) + [QuietModel.rule]).joined(separator: "\n---\n")

    private static func plainRule(_ letter: String) -> String {
        rule(letter).replacing(" && WHEN", with: "").replacing("when: WHEN\n", with: "")
            .replacing("when: source != 'vCONDITION'\n", with: "").replacing(", if: \"ACTION >= 0\"", with: "")
            .replacing("ACTION", with: "0")
    }

    private static func rule(_ letter: String) -> String {
        if let rule = WaitingPatterns.rules[letter] ?? WaitingEscalations.rules[letter] { return rule }
        return switch letter {
        case "h":
            """
            rule: h
            on: [task_created, task_changed]
            when: task.priority == 1 && WHEN
            for: 3m
            do: [{log: "h ${{ task.id }}", if: "ACTION >= 0"}]
            """
        case "c":
            """
            rule: c
            on: task_created
            when: WHEN
            count: {at_least: 3, within: 4m, by: task.priority}
            do: [{log: "c ${{ events.map(e, e.task.id).join(' ') }}", if: "ACTION >= 0"}]
            """
        case "d":
            """
            rule: d
            on: [task_created, task_changed]
            when: WHEN
            count: {at_least: 2, within: 3m, distinct: task.id}
            do: [{log: "d ${{ events.map(e, e.task.id).join(' ') }}", if: "ACTION >= 0"}]
            """
        case "g":
            """
            rule: g
            on: [task_created, task_changed, task_removed, task_returned]
            when: WHEN
            group: {by: task.priority, wait: 2m, every: 5m, max: 4}
            do: [{log: "g ${{ key }} ${{ events.map(e, e.task.id).join(' ') }}", if: "ACTION >= 0"}]
            """
        default:
            """
            rule: x
            on: [task_created, task_changed]
            when: task.priority == 1 && WHEN
            for: 2m
            count: {at_least: 2, within: 6m}
            group: {wait: 1m}
            do: [{log: "x ${{ events.map(e, e.task.id).join(' ') }}", if: "ACTION >= 0"}]
            """
        }
    }

    enum Kind { case created, changed, removed, returned }

    private struct Waits {
        var due: Int
        /// The number of the wait: waits of one moment end in the order in which they began.
        var number: Int
        var hasRun = false
    }

    /// The counted or gathered events of a rule: their tasks and minutes.
    private typealias Window = [(id: String, at: Int)]

    private struct Group {
        var events: Window = []
        var due = 0
        var last: Int?
        /// Its place among the timers of the same moment: the one set first comes first.
        var number = 0
    }

    /// The last known priorities of the tasks.
    private(set) var tasks: [String: Int] = [:]
    private var (hold, chainHold): ([String: Waits], [String: Waits]) = ([:], [:])
    private var created: [Int: Window] = [:]
    private var distinct: Window = []
    private var chainCount: Window = []
    private var groups: [Int: Group] = [:]
    private var chainGroup = Group()
    private var patterns = WaitingPatterns()
    private var escalations = WaitingEscalations()
    private var begun = 0
    /// The rules that are not in the file.
    private var absent: Set<String> = []
    private(set) var log: [String] = []

    /// Reloads the rules. A changed condition or a removed rule drops the rule's state; a changed `do` does not.
    mutating func load(_ versions: [String: Version], restarted: Set<String>, at now: Int) {
        let absent = Set(versions.filter { !$0.value.isPresent }.keys)
        escalations.load(versions)
        let ended = restarted.union(absent)
        if ended.contains("h") { hold = [:] }
        if ended.contains("c") { created = [:] }
        if ended.contains("d") { distinct = [] }
        if ended.contains("g") { groups = [:] }
        if ended.contains("x") { (chainHold, chainCount, chainGroup) = ([:], [], Group()) }
        patterns.load(restarted: restarted, without: absent, at: now)
        self.absent = absent
    }

    /// Fires the timers that come before the events of a moment: due groups, and waits that end at this moment. Waits that ended during
    /// downtime come after the events.
    mutating func beforeChanges(at now: Int) {
        fireGroups(until: now)
        fireHolds(at: now) { $0 == now }
        flushChain(until: now)
        log += escalations.fire(tasks, at: now) { $0 == now }
    }

    /// Fires the timers that come after the events of a moment.
    mutating func afterChanges(at now: Int) {
        fireHolds(at: now) { $0 <= now }
        fireGroups(until: now)
        log += escalations.fire(tasks, at: now) { $0 <= now }
    }

    /// Applies an event of a task with this priority; for a removed task, its last known one.
    mutating func apply(_ kind: Kind, _ id: String, _ priority: Int, at now: Int) {
        // h and x
        let (holds, begins) = (priority == 1, kind == .created || kind == .changed)
        for (rule, waits, minutes) in [("h", \WaitingModel.hold, 3), ("x", \.chainHold, 2)] where !absent.contains(rule) {
            if kind == .removed || !holds {
                self[keyPath: waits][id] = nil
            } else if begins, self[keyPath: waits][id] == nil {
                self[keyPath: waits][id] = Waits(due: now + minutes, number: begun)
                begun += 1
            }
        }
        log += patterns.apply(kind, id, priority, at: now)
        log += escalations.apply(kind, id, priority, at: now)
        tasks[id] = kind == .removed ? nil : priority
        // c
        if kind == .created, !absent.contains("c") {
            var window = created[priority, default: []].filter { now < $0.at + 4 } + [(id, now)]
            if window.count >= 3 {
                log.append("c " + Self.ids(window))
                window = []
            }
            created[priority] = window
        }
        // d
        if begins, !absent.contains("d") {
            distinct = distinct.filter { now < $0.at + 3 && $0.id != id } + [(id, now)]
            if distinct.count >= 2 {
                log.append("d " + Self.ids(distinct))
                distinct = []
            }
        }
        // g
        if absent.contains("g") { return }
        var group = groups[priority] ?? Group()
        if group.events.isEmpty { group.due = max(now + 2, group.last.flatMap { $0 > now ? nil : $0 + 5 } ?? .min) }
        group.events.append((id, now))
        if group.events.count >= 4 { flush(&group, "g \(priority) ", at: now) }
        groups[priority] = group
    }

    /// The ids by the time of their events; a clock that was set back makes a later event an earlier one.
    private static func ids(_ window: Window) -> String {
        window.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element.id)
            .joined(separator: " ")
    }

    /// Waits that are over at this very moment come before its events.
    private mutating func fireHolds(at now: Int, _ isDue: (Int) -> Bool) {
        log += patterns.fire(isDue)
        func due(_ waits: [String: Waits]) -> [(id: String, due: Int, number: Int)] {
            waits.filter { !$0.value.hasRun && isDue($0.value.due) }.sorted {
                ($0.value.due, $0.value.number) < ($1.value.due, $1.value.number)
            }.map { ($0.key, $0.value.due, $0.value.number) }
        }
        for wait in due(hold) { run(wait.id) }
        for wait in due(chainHold) {
            // A group that an earlier wait began may be due before the next wait is over.
            if (chainGroup.due, chainGroup.number) < (wait.due, wait.number) { flushChain(until: wait.due) }
            chain(wait.id, at: wait.due, now)
        }
    }

    private mutating func run(_ id: String) {
        hold[id]?.hasRun = true
        log.append("h \(id)")
    }

    /// The moment from which `group` counts after a timer: its due time, or now if that is over a minute ago.
    private static func start(_ due: Int, _ now: Int) -> Int { now - due > 1 ? now : due }

    /// x goes on: its count from the moment at which the wait was over, then its group.
    private mutating func chain(_ id: String, at due: Int, _ now: Int) {
        chainHold[id]?.hasRun = true
        chainCount = (chainCount.filter { due < $0.at + 6 } + [(id, due)]).sorted { $0.at < $1.at }
        guard chainCount.count >= 2 else { return }
        if chainGroup.events.isEmpty {
            (chainGroup.due, chainGroup.number) = (Self.start(due, now) + 1, begun)
            begun += 1
        }
        chainGroup.events += chainCount
        chainCount = []
    }

    private mutating func fireGroups(until now: Int) {
        for priority in groups.keys.sorted() {
            guard var group = groups[priority], !group.events.isEmpty, group.due <= now else { continue }
            flush(&group, "g \(priority) ", at: Self.start(group.due, now))
            groups[priority] = group
        }
        // Waits of this very moment that were set earlier come first.
        let isFirst = !chainHold.values.contains { !$0.hasRun && $0.due == now && $0.number < chainGroup.number }
        flushChain(until: isFirst ? now : now - 1)
    }

    private mutating func flushChain(until now: Int) {
        guard !chainGroup.events.isEmpty, chainGroup.due <= now else { return }
        var group = chainGroup
        flush(&group, "x ", at: group.due)
        chainGroup = group
    }

    private mutating func flush(_ group: inout Group, _ prefix: String, at now: Int) {
        log.append(prefix + Self.ids(group.events))
        group.events = []
        group.last = now
    }
}

extension TestAgent {
    /// Lets some minutes pass, or none. Sometimes the clock is set back: timers that have fired are not due again, and due times stay as
    /// they are. Returns the minutes, fewer than none if the clock was set back.
    func passRandomTime(setsBack: Bool = true, _ random: inout SeededRandom) async -> Int {
        let pause = random.oneIn(5) ? Int.random(in: 2...12, using: &random) : Int.random(in: 0...1, using: &random)
        if pause > 0 {
            await bench.clock.advance(by: .seconds(60 * pause))
        } else if setsBack, random.oneIn(8) {
            let step = Int.random(in: 1...6, using: &random)
            await bench.clock.jump(to: bench.now - .seconds(60 * step))
            return -step
        }
        return pause
    }

    /// The lines that a model expects and that were not logged, and those that were logged beside them; nil if there are none.
    func difference(from expected: [String]) -> String? {
        let (made, wanted) = (texts.sorted(), expected.sorted())
        if made == wanted { return nil }
        let (lost, surplus) = (wanted.difference(from: made).insertions, made.difference(from: wanted).insertions)
        return "lost \(lost), surplus \(surplus)"
    }

    /// Creates, changes or removes a random task of those that a model knows, or does nothing. Returns the expected event.
    func changeRandomTask(
        of known: [String: Int], gone: inout Set<String>, _ title: String, _ random: inout SeededRandom
    ) -> (kind: WaitingModel.Kind, id: String, priority: Int)? {
        let id = ["a", "b", "c", "d"][Int.random(in: 0..<4, using: &random)]
        let priority = Int.random(in: 1...2, using: &random)
        if let before = known[id], random.oneIn(4) {
            source.remove(TaskKey(id))
            gone.insert(id)
            return (.removed, id, before)
        }
        if random.oneIn(3) { return nil }
        // A title that was never there makes it a change.
        source.put(task(id, title, ["priority": .int(Int64(priority))]))
        return (known[id] != nil ? .changed : gone.contains(id) ? .returned : .created, id, priority)
    }
}
