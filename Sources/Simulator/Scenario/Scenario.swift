import BellhopCore

/// A sequence of events on an instance with their times. A value without a clock of its own.
public struct Scenario: Sendable {
    /// An event and its time, microseconds since 1970 UTC.
    public struct Due: Sendable, Hashable {
        public var time: Int64
        public var event: ScenarioEvent

        public init(at time: Int64, _ event: ScenarioEvent) {
            self.time = time
            self.event = event
        }
    }

    private var due: [Due]
    private var generator: TaskGenerator?
    private var watcherEvents: WatcherEvents?

    /// A script, in any order; events at the same time happen in the order given.
    public init(_ script: [Due]) { due = Scenario.sorted(script) }

    private init(_ script: [Due] = [], generator: TaskGenerator) {
        due = Scenario.sorted(script)
        self.generator = generator
    }

    /// Endless office tasks that arrive, change and close: most of them by day from Monday to Friday.
    ///
    /// - Parameters:
    ///   - user: the assignee of about half of the tasks.
    ///   - people: user names of callers and colleagues, at least one; see ``SimulatedInstance/addPeople()``.
    ///   - tasksPerHour: by day; a tenth of it at night and on days off.
    public static func everyday(
        for user: String, among people: [String], from start: Int64, tasksPerHour: Double = 6, seed: UInt64 = 1
    ) -> Scenario {
        precondition(!people.isEmpty && tasksPerHour > 0, "an office without people has no tasks")
        return Scenario(
            generator: TaskGenerator(user: user, people: people, start: start, tasksPerHour: tasksPerHour, seed: seed))
    }

    /// Activity at any hour of the week: two old tasks at the start, a change and a new task for each new watcher
    /// (``addWatcherEvents(at:)``), and tasks that arrive, change and close by day and night.
    public static func practice(
        for user: String, among people: [String], from start: Int64, tasksPerHour: Double = 12, seed: UInt64
    ) -> Scenario {
        precondition(!people.isEmpty && tasksPerHour > 0, "an office without people has no tasks")
        var random = SeededRandom(seed: seed &+ 11)
        let ids = (0..<2).map { _ in random.hex() }
        let tasks = Self.oldTasks(of: user, openedBy: (people[0], people[0]), ids: ids, at: start)
        var scenario = Scenario(
            tasks.map { Due(at: start, .opened($0)) },
            generator: TaskGenerator(
                user: user, people: people, start: start, tasksPerHour: tasksPerHour, seed: seed, keepsOfficeHours: false))
        scenario.watcherEvents = WatcherEvents(user: user, caller: people[0], task: ids[0], random: random)
        return scenario
    }

    /// An incident and a catalog task of the days before the start.
    static func oldTasks(of user: String, openedBy: (String, String), ids: [String], at start: Int64) -> [NewTask] {
        func old(_ days: Int64) -> [String: String] {
            let time = CivilTime.text(start - days * CivilTime.day)
            return ["sys_created_on": time, "opened_at": time, "sys_updated_on": time]
        }
        return [
            NewTask(
                "incident", title: "Printer in room 2.14 prints blank pages", priority: 3, assignedTo: user,
                openedBy: openedBy.0, sysID: ids[0], fields: old(3)),
            NewTask(
                "sc_task", title: "Set up a laptop for Mira", priority: 4, assignedTo: user, openedBy: openedBy.1, sysID: ids[1],
                fields: old(5)),
        ]
    }

    /// Adds events for a new watcher: a change after five seconds, a new task after twelve.
    mutating func addWatcherEvents(at time: Int64) {
        guard let script = watcherEvents?.next(at: time) else { return }
        due = Scenario.sorted(due + script)
    }

    /// The next event and its time; nil at the end of the script.
    public var next: Due? {
        guard let time = nextTime else { return nil }
        var ahead = self
        return ahead.tick(to: time).first.map { Due(at: time, $0) }
    }

    /// All events up to that time, in order, each once.
    public mutating func tick(to time: Int64) -> [ScenarioEvent] {
        if let more = generator?.arrivals(upTo: time), !more.isEmpty { due = Scenario.sorted(due + more) }
        let count = due.firstIndex { $0.time > time } ?? due.count
        defer { due.removeFirst(count) }
        return due.prefix(count).map(\.event)
    }

    /// The time of the next event; nil at the end of the script.
    public var nextTime: Int64? { [due.first?.time, generator?.nextArrival].compactMap(\.self).min() }

    private static func sorted(_ due: [Due]) -> [Due] {
        due.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
    }
}
