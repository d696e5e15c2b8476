/// A course of events: what happens on an instance, and when. A value without a clock of its own.
public struct Scenario: Sendable {
    /// A happening and its time, microseconds since 1970 UTC.
    public struct Due: Sendable, Hashable {
        public var time: Int64
        public var happening: Happening

        public init(at time: Int64, _ happening: Happening) {
            self.time = time
            self.happening = happening
        }
    }

    private var due: [Due]
    private var life: Life?

    /// A script, in any order; things of one moment happen in the order given.
    public init(_ script: [Due]) { due = Scenario.sorted(script) }

    private init(_ script: [Due] = [], life: Life) {
        due = Scenario.sorted(script)
        self.life = life
    }

    /// Tasks that come, change and go as in an office, without end: most of them by day from Monday to Friday.
    ///
    /// - Parameters:
    ///   - user: who gets about half of the tasks.
    ///   - people: user names of callers and colleagues, at least one; see ``SimulatedInstance/addPeople()``.
    ///   - tasksPerHour: by day; a tenth of it at night and on days off.
    public static func everyday(
        for user: String, among people: [String], from start: Int64, tasksPerHour: Double = 6, seed: UInt64 = 1
    ) -> Scenario {
        precondition(!people.isEmpty && tasksPerHour > 0, "an office without people has no tasks")
        return Scenario(life: Life(user: user, people: people, start: start, tasksPerHour: tasksPerHour, seed: seed))
    }

    /// Something to look at from the first minute on, at any hour of the week: two old tasks at the start, a change and a new task within
    /// the first minute, and then tasks that come, change and go by day and night.
    public static func practice(
        for user: String, among people: [String], from start: Int64, tasksPerHour: Double = 12, seed: UInt64
    ) -> Scenario {
        precondition(!people.isEmpty && tasksPerHour > 0, "an office without people has no tasks")
        var random = SeededRandom(seed: seed &+ 11)
        let ids = (0..<3).map { _ in random.hex() }
        func old(_ days: Int64) -> [String: String] {
            let time = CivilTime.text(start - days * CivilTime.day)
            return ["sys_created_on": time, "opened_at": time, "sys_updated_on": time]
        }
        let tasks = [
            NewTask(
                "incident", title: "Printer in room 2.14 prints blank pages", priority: 3, assignedTo: user, openedBy: people[0],
                sysID: ids[0], fields: old(3)),
            NewTask(
                "sc_task", title: "Set up a laptop for Mira", priority: 4, assignedTo: user, openedBy: people[0], sysID: ids[1],
                fields: old(5)),
            NewTask(
                "incident", title: "VPN drops every few minutes since this morning", priority: 2, assignedTo: user,
                openedBy: people[0], sysID: ids[2]),
        ]
        let script = [
            Due(at: start, .opened(tasks[0])), Due(at: start, .opened(tasks[1])),
            Due(at: start + 30 * CivilTime.second, .changed(task: ids[0], set: ["priority": "2"], by: people[0])),
            Due(at: start + 50 * CivilTime.second, .opened(tasks[2])),
        ]
        return Scenario(
            script,
            life: Life(
                user: user, people: people, start: start, tasksPerHour: tasksPerHour, seed: seed, keepsOfficeHours: false))
    }

    /// All that happens up to that time, in order, each thing once.
    public mutating func tick(to time: Int64) -> [Happening] {
        if life != nil, let more = life?.arrivals(upTo: time), !more.isEmpty { due = Scenario.sorted(due + more) }
        let count = due.firstIndex { $0.time > time } ?? due.count
        defer { due.removeFirst(count) }
        return due.prefix(count).map(\.happening)
    }

    /// When the next thing happens; nil when the script is at its end.
    public var nextTime: Int64? { [due.first?.time, life?.nextArrival].compactMap(\.self).min() }

    private static func sorted(_ due: [Due]) -> [Due] {
        due.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
    }
}

extension Simulation {
    /// Lets a scenario happen by the simulation's clock, until it ends or the task is cancelled.
    ///
    /// - Parameter pause: real time between two looks at the clock.
    public func play(_ scenario: Scenario, pause: Duration = .milliseconds(50)) async throws {
        var scenario = scenario
        while scenario.nextTime != nil {
            for happening in scenario.tick(to: now()) { instance.apply(happening) }
            try await Task.sleep(for: pause)
        }
    }
}
