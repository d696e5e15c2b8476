import BellhopCore
import BellhopEngine
import BellhopStore
import BellhopTesting
import Simulator
import Synchronization
import Testing

@testable import BellhopConnectors

/// Fields that access rules hide from the account of a table, read by a poller with a store.
@Suite struct HiddenFieldsTests {
    private let practice = Practice()
    private var instance: SimulatedInstance { practice.instance }

    /// A poller of a table, with the events and notices that it causes.
    private struct Watch {
        let store: any Store
        let scope: Scope.ID
        let clock: TestClock
        let notices = Notices()
        var poller: Poller

        final class Notices: Sendable {
            private let kept = Mutex<[String]>([])
            var all: [String] { kept.withLock { $0 } }
            func keep(_ signal: Signal) { if case .notice(_, let text) = signal { kept.withLock { $0.append(text) } } }
        }

        init(_ source: any Source, _ clock: TestClock) throws {
            store = try Stores.inMemory()
            self.clock = clock
            scope = source.scope.id
            let signals = Signals([{ [notices] signal in notices.keep(signal) }])
            poller = Poller(
                source, plan: PollPlan(cadence: .every(.seconds(60))),
                in: EngineContext(store: store, clock: clock, signals: signals, random: { 0.5 }))
        }

        /// Polls a minute later; returns the events of this poll, each with its task's title and the changed fields.
        mutating func poll() async throws -> [String] {
            await clock.advance(by: .seconds(60))
            let before = try await store.events(EventQuery(limit: 1000)).count
            _ = try await poller.pollOnce()
            return try await store.events(EventQuery(limit: 1000)).dropFirst(before).map { stored in
                let changes = stored.event.changes?.keys.sorted().joined(separator: " ") ?? ""
                let parts = [stored.event.type.name, stored.event.task?.title ?? "", changes]
                return parts.filter { !$0.isEmpty }.joined(separator: " ")
            }
        }

        func task(_ task: SimulatedTask) async throws -> Snapshot? {
            try await store.remembered([TaskKey(task.id)], in: scope)[TaskKey(task.id)]?.snapshot
        }

        func lastTask() async throws -> Snapshot? { try await store.events(EventQuery(limit: 1000)).last?.event.task }
    }

    private func connection() throws -> ServiceNowConnection {
        try practice.connection(over: InProcessExchange(practice.simulation))
    }

    private func watch(_ settings: JSON.Object = [:]) throws -> Watch {
        let all = JSON.Object(["table": "task", "query": "active=true"], with: settings)
        return try Watch(
            TableSource(name: "incidents", settings: Settings(all), connection: connection()), practice.clock)
    }

    private func hide(_ fields: Set<String>) { instance.changeUser("john.doe") { $0.omittedFields = fields } }

    private static let fields: JSON = [
        "number", "short_description", "urgency", "assigned_to", "assignment_group", ["owner": "assigned_to.name"],
    ]

    @Test(arguments: ["values", "labels", "both"])
    func `a field that an access rule hides keeps its last value, and only a change of the task is an event`(
        _ display: String
    ) async throws {
        let a = instance.addTask(title: "A", assignedTo: "john.doe", fields: ["urgency": "3"])
        let b = instance.addTask(title: "B", assignedTo: "john.doe")
        var watch = try watch(["fields": Self.fields, "display": .string(display)])
        _ = try await watch.poll()
        let before = try #require(try await watch.task(a))
        hide(["assigned_to"])
        #expect(try await watch.poll() == [])
        instance.updateTask(a.id, set: ["urgency": "1"], by: "abel.tuter")
        #expect(try await watch.poll() == ["task_changed A urgency"])
        let hidden = try #require(try await watch.task(a))
        #expect(hidden.fields["assigned_to"] == before.fields["assigned_to"] && hidden.fields["owner"] == "John Doe")
        #expect(hidden.labels["assigned_to"] == before.labels["assigned_to"])
        #expect(try await watch.lastTask()?.fields["owner"] == "John Doe")
        hide([])
        #expect(try await watch.poll() == [])
        hide(["assigned_to"])
        #expect(try await watch.poll() == [])
        instance.assign(b.id, to: "abel.tuter")
        #expect(try await watch.poll() == [])
        hide([])
        #expect(try await watch.poll() == ["task_changed B assigned_to owner"])
        instance.assign(b.id, to: nil)
        #expect(try await watch.poll() == ["task_changed B assigned_to owner"])
        #expect(try await watch.task(b)?.fields["assigned_to"] == "")
    }

    @Test func `a hidden title, number or class stays as it was`() async throws {
        let task = instance.addTask(title: "A", assignedTo: "john.doe")
        var watch = try watch()
        _ = try await watch.poll()
        hide(["number", "short_description", "sys_class_name"])
        #expect(try await watch.poll() == [])
        instance.assign(task.id, to: "abel.tuter")
        #expect(try await watch.poll() == ["task_changed A assigned_to"])
        let stored = try #require(try await watch.task(task))
        #expect(stored.number == task.number && stored.className == "incident" && stored.type == "Incident")
    }

    @Test func `a task that leaves while a field is hidden has its last value, and a new one has none`() async throws {
        let old = instance.addTask(title: "old", assignedTo: "john.doe")
        var watch = try watch(["fields": Self.fields])
        _ = try await watch.poll()
        hide(["assigned_to"])
        instance.addTask(title: "new", assignedTo: "john.doe")
        #expect(try await watch.poll() == ["task_created new"])
        #expect(try await watch.lastTask()?.fields["assigned_to"] == "")
        instance.closeTask(old.id)
        #expect(try await watch.poll() == ["task_removed old"])
        #expect(try await watch.lastTask()?.fields["owner"] == "John Doe")
    }

    @Test func `a tracker's hidden field keeps its last value, too`() async throws {
        let task = instance.addTask(title: "A", priority: 2, assignedTo: "john.doe")
        var watch = try Watch(
            TrackerSource(name: "my-work", settings: Settings([:]), connection: connection()), practice.clock)
        _ = try await watch.poll()
        hide(["priority"])
        for _ in 0..<2 { #expect(try await watch.poll() == []) }
        #expect(try await watch.task(task)?.fields["priority"] == 2)
    }

    @Test func `a tracker sees the changes of tasks whose class is hidden`() async throws {
        let old = instance.addTask(title: "old", assignedTo: "john.doe")
        var watch = try Watch(
            TrackerSource(name: "my-work", settings: Settings([:]), connection: connection()), practice.clock)
        _ = try await watch.poll()
        hide(["sys_class_name"])
        let new = instance.addTask(title: "new", assignedTo: "john.doe")
        #expect(try await watch.poll() == ["task_created new"])
        for task in [old, new] {
            instance.updateTask(task.id, set: ["due_date": "2026-01-09 08:00:00"])
            #expect(try await watch.poll() == ["task_changed \(task.title) due_date"])
        }
        #expect(try await watch.task(old)?.className == "incident")
        #expect(try await watch.task(new)?.className == "task")
    }

    @Test func `one notice names the hidden fields until their tasks show them again`() async throws {
        let task = instance.addTask(title: "A", assignedTo: "john.doe")
        instance.addTask(title: "B")
        var watch = try watch(["fields": Self.fields])
        _ = try await watch.poll()
        hide(["assigned_to"])
        for urgency in ["1", "2", "3"] {
            instance.updateTask(task.id, set: ["urgency": urgency])
            _ = try await watch.poll()
        }
        #expect(
            watch.notices.all == [
                "Rows of source incidents do not show `assigned_to`, `assigned_to.name`: access rules probably hide them from the account. "
                    + "A task keeps the last value that was read, and a new task has none. Let the account read them, or take them out of `fields`."
            ])
        hide([])
        _ = try await watch.poll()
        hide(["urgency"])
        _ = try await watch.poll()
        #expect(watch.notices.all.count == 2 && watch.notices.all.last?.contains("do not show `urgency`: ") == true)
    }

    @Test(arguments: [true, false])
    func `a number that the source does not declare is named as hidden only if the dictionary has it`(
        _ isDictionaryRead: Bool
    ) async throws {
        instance.addTask(title: "A")
        instance.changeUser("john.doe") { $0.dictionary = isDictionaryRead ? .allowed : .forbidden }
        var watch = try watch(["fields": ["short_description", "urgency"]])
        hide(["number"])
        _ = try await watch.poll()
        #expect(watch.notices.all.count == (isDictionaryRead ? 1 : 0), "\(watch.notices.all)")
        #expect(watch.notices.all.allSatisfy { $0.contains("do not show `number`: ") })
    }

    @Test func `a hidden field stays in the notice when its task leaves, until other rows show it`() {
        let state = TableState(page: 100)
        func unread(_ rows: [TaskKey: [String]], left: Set<TaskKey> = []) -> [String] {
            var details = Details()
            for (key, unread) in rows { details.snapshots.add(SnapshotText(Snapshot(key: key), unread: unread)) }
            for key in left { details.departures[key] = .closed }
            return state.unread(after: details)
        }
        #expect(unread(["a": ["x"]]) == ["x"])
        #expect(unread(["b": []]) == ["x"])
        #expect(unread(["a": ["x"]], left: ["a"]) == ["x"])
        #expect(unread(["b": ["x"]]) == ["x"])
        #expect(unread(["c": []]) == ["x"])
        #expect(unread([:], left: ["b"]) == ["x"])
        #expect(unread(["c": []]) == [])
    }

    @Test func `who changed a task how often is unknown while it is hidden`() async throws {
        let task = instance.addTask(title: "A")
        var watch = try watch()
        _ = try await watch.poll()
        hide(["sys_mod_count", "sys_updated_by"])
        instance.updateTask(task.id, set: ["urgency": "1"])
        #expect(try await watch.poll().count == 1)
        #expect(try await watch.task(task)?.fields["sys_mod_count"] == .null)
        #expect(watch.notices.all == [])
    }

    @Test func `a field of the record that a reference names is hidden only together with the reference`() {
        let schema = TaskSchema([
            .init("assigned_to", .text), .init("owner", .text, path: "assigned_to.name"),
            .init("place", .text, path: "location.name"), .init("gone", .text),
        ])
        var reading = TaskReading(schema: schema, display: .values) { $0.text }
        func unread(_ owner: JSON?) -> [String] {
            var row: JSON.Object = ["number": "", "short_description": "", "sys_class_name": ""]
            row["assigned_to"] = owner
            return reading.unread { row[$0] }
        }
        #expect(unread("") == ["gone"] && unread("x") == ["gone"])
        #expect(unread(nil) == ["assigned_to", "owner", "gone"])
        reading.unrequested = ["gone"]
        #expect(unread("") == [])
    }

    @Test func `a field of a record is hidden together with a reference that is requested of every task`() {
        let schema = TaskSchema([.init("owner", .text, path: "assigned_to.name")])
        var reading = TaskReading(schema: schema, display: .values) { $0.text }
        let row: JSON.Object = ["number": "", "short_description": "", "sys_class_name": ""]
        #expect(reading.unread { row[$0] } == ["owner"])
        reading.unrequested = ["assigned_to"]
        #expect(reading.unread { row[$0] } == [])
    }
}
