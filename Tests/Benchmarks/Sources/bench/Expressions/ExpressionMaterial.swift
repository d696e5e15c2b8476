import CEL

/// Events as a host stores them, and the fields that expressions may read.
struct ExpressionMaterial: Sendable {
    struct Task: Sendable {
        var number: String
        var title: String
        var priority: Int64
    }

    struct Event: Sendable {
        var type: String
        var task: Task
    }

    var events: [Event]

    /// Three in four differ in type, in priority or in subject; in the rest, the word is inside the title.
    init(_ count: Int) {
        events = (0..<count).map { number in
            let about = number % 4 == 3 ? "The disk" : "The printer"
            return Event(
                type: number % 4 == 0 ? "task_changed" : "task_created",
                task: Task(
                    number: "INC\(1_000_000 + number)",
                    title: "\(about) on floor \(number % 37) has been failing since the last update",
                    priority: number % 4 == 1 ? 4 : 2))
        }
    }

    static let condition = #"event.type == "task_created" && task.priority <= 2 && task.title.contains("disk")"#
    static let digest = #"tasks.filter(t, t.priority <= 2).map(t, t.number + ": " + t.title).join(", ")"#

    static let task = ObjectType(
        "task", fields: [.init("number", .string), .init("title", .string), .init("priority", .nullable(.int))])

    static var environment: Environment {
        var environment = Environment()
        environment.declare("event", .object(ObjectType("event", fields: [.init("type", .string)])))
        environment.declare("task", .object(task))
        environment.declare("tasks", .list(.object(task)))
        return environment
    }
}

/// Provides the paths of the current event by their numbers, as rules do.
final class EventReader: Resolver {
    private enum Path { case type, number, title, priority, tasks, other }

    private let paths: [Path]
    private let events: [ExpressionMaterial.Event]
    private let tasks: TaskRows
    var place = 0

    init(_ material: ExpressionMaterial, _ slots: SlotTable) {
        events = material.events
        tasks = TaskRows(material.events.map { TaskRow($0.task) })
        paths = slots.all.map { slot in
            switch slot.description {
            case "event.type": .type
            case "task.number": .number
            case "task.title": .title
            case "task.priority": .priority
            case "tasks": .tasks
            default: .other
            }
        }
    }

    func value(of slot: Slot) -> Value? {
        switch paths[slot.id] {
        case .type: .string(events[place].type)
        case .number: .string(events[place].task.number)
        case .title: .string(events[place].task.title)
        case .priority: .int(events[place].task.priority)
        case .tasks: .list(Value.List(tasks))
        case .other: nil
        }
    }
}

/// A task as a host object.
final class TaskRow: HostObject {
    private let task: ExpressionMaterial.Task

    init(_ task: ExpressionMaterial.Task) { self.task = task }

    var celType: CELType { .object(ExpressionMaterial.task) }

    func value(named name: String) -> Value? {
        switch name {
        case "number": .string(task.number)
        case "title": .string(task.title)
        case "priority": .int(task.priority)
        default: nil
        }
    }
}

/// The tasks of a source.
final class TaskRows: HostList {
    private let rows: [TaskRow]

    init(_ rows: [TaskRow]) { self.rows = rows }

    var count: Int { rows.count }
    func element(at index: Int) -> Value { .object(rows[index]) }
}
