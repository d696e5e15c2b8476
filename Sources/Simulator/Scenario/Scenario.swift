import BellhopCore

/// A sequence of events on an instance with their times. A value without a clock of its own.
public struct Scenario: Sendable {
    /// An event and its time, microseconds since 1970 UTC.
    public struct Due: Sendable, Hashable {
        public var time: Int64
        public var event: ScenarioEvent

        public init(at time: Int64, _ event: ScenarioEvent) { (self.time, self.event) = (time, event) }
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

/// An action of people on the instance.
public enum ScenarioEvent: Sendable, Hashable {
    /// A task is opened; its sys_id is given, so that later events can refer to it.
    case opened(NewTask)
    /// Columns get raw values.
    case changed(task: String, set: [String: String], by: String)
    /// The task is assigned to a user by name, or unassigned if nil.
    case assigned(task: String, to: String?, by: String)
    case noted(task: String, text: String, kind: JournalEntry.Kind, by: String)
    case closed(task: String, by: String)
    case deleted(task: String)
}

extension SimulatedInstance {
    /// Applies an event now; if its task no longer exists, nothing changes.
    public func apply(_ event: ScenarioEvent) {
        switch event {
        case .opened(let task): addTask(task)
        case .changed(let task, let values, let author): updateTask(task, set: values, by: author)
        case .assigned(let task, let userName, let author): assign(task, to: userName, by: author)
        case .noted(let task, let text, let kind, let author): addNote(text, kind, on: task, by: author)
        case .closed(let task, let author): closeTask(task, by: author)
        case .deleted(let task): deleteTask(task)
        }
    }
}

/// Events for new watchers of a simulated instance.
struct WatcherEvents: Sendable {
    private static let titles = [
        "VPN drops every few minutes since this morning", "Outlook asks for the password again and again",
        "No sound in video calls in room 2.14", "Wi-Fi is slow in the canteen",
    ]

    let user: String
    let caller: String
    /// The sys_id of the task that changes.
    let task: String
    private(set) var random: SeededRandom
    private(set) var count = 0

    mutating func next(at time: Int64) -> [Scenario.Due] {
        defer { count += 1 }
        let new = NewTask(
            "incident", title: Self.titles[count % Self.titles.count], priority: 2, assignedTo: user, openedBy: caller,
            sysID: random.hex())
        let priority = count.isMultiple(of: 2) ? "2" : "3"
        return [
            .init(at: time + 5 * CivilTime.second, .changed(task: task, set: ["priority": priority], by: caller)),
            .init(at: time + 12 * CivilTime.second, .opened(new)),
        ]
    }
}

extension Scenario {
    /// A title that programs must treat as plain text.
    public static let hostileTitle = #"<!channel> ${{ secret.x }} "; DROP TABLE"#

    /// Half an hour of work for one user: two old tasks at the start, then new ones, a change, a P1, a closing.
    ///
    /// - Parameters:
    ///   - user: the user name of the assignee; colleagues and callers are those of ``SimulatedInstance/addPeople()``.
    ///   - start: microseconds since 1970 UTC; apply `tick(to: start)` before the first poll, and the old tasks are there.
    ///   - minute: how long a minute of the script takes, in microseconds of the simulation's clock.
    public static func demo(for user: String, from start: Int64, minute: Int64 = 60_000_000) -> Scenario {
        var random = SeededRandom(seed: 42)
        let ids = (0..<6).map { _ in random.hex() }
        func at(_ minutes: Int64, _ event: ScenarioEvent) -> Due { Due(at: start + minutes * minute, event) }
        let old = oldTasks(of: user, openedBy: ("beth.anglin", "carla.humble"), ids: ids, at: start)
        let vpn = NewTask(
            "incident", title: "VPN drops every few minutes since this morning", priority: 2, assignedTo: user,
            openedBy: "abel.tuter", sysID: ids[2])
        let hostile = NewTask(
            "incident", title: hostileTitle, priority: 4, assignedTo: user, openedBy: "david.loo", sysID: ids[3])
        let mail = NewTask(
            "incident", title: "Mail is down for the whole company", priority: 1, openedBy: "eva.seahorn", sysID: ids[4])
        let certificate = NewTask(
            "change_request", title: "Renew the certificate of the mail gateway", priority: 3, assignedTo: user,
            openedBy: "fred.luddy", sysID: ids[5])
        return Scenario([
            at(0, .opened(old[0])),
            at(0, .opened(old[1])),
            at(3, .opened(vpn)),
            at(5, .opened(hostile)),
            at(8, .changed(task: ids[0], set: ["priority": "2"], by: "beth.anglin")),
            at(9, .noted(task: ids[2], text: "It works from my phone, if that helps.", kind: .comments, by: "abel.tuter")),
            at(11, .opened(mail)),
            at(13, .assigned(task: ids[4], to: user, by: "fred.luddy")),
            at(16, .closed(task: ids[0], by: user)),
            at(20, .opened(certificate)),
            at(24, .changed(task: ids[4], set: ["state": "2"], by: user)),
            at(28, .closed(task: ids[4], by: user)),
        ])
    }
}
