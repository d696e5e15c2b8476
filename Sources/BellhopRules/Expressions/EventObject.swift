import BellhopCore
import CEL

/// An event as expressions see it: its CloudEvents attributes, and `data` unchanged.
final class EventObject: HostObject {
    private let event: Event

    init(_ event: Event) { self.event = event }

    static let type = ObjectType(
        "an event",
        fields: [
            .init("specversion", .string), .init("id", .string), .init("type", .string), .init("source", .string),
            .init("subject", .string), .init("time", .timestamp), .init("data", .map(.string, .dyn)),
        ])

    var celType: CELType { .object(Self.type) }
    var fieldNames: [String] { Self.type.fields.map(\.name) }

    func value(named name: String) -> Value? {
        switch name {
        case "specversion": .string("1.0")
        case "id": .string(event.id.text)
        case "type": .string(event.type.name)
        case "source": .string(event.source)
        case "subject": .string(event.subject)
        case "time": Value(event.time)
        case "data": .map(Value.Map(JSONMembers(event.data)))
        default: nil
        }
    }

    func isEqual(to other: any HostObject) -> Bool { (other as? EventObject).map { $0.event.id == event.id } ?? false }
    func hash(into hasher: inout Hasher) { hasher.combine(event.id) }
}

/// One of `events`: it has the members of `event`, and also its task, its changes and its comment.
final class GatheredEvent: HostObject {
    private let event: Event
    private let element: (source: String, task: Snapshot)?
    private let facts: RunFacts
    private let attributes: EventObject

    /// - Parameter element: the list element for which the gathered run was made; nil for other runs.
    init(_ event: Event, _ element: (source: String, task: Snapshot)?, _ facts: RunFacts) {
        (self.event, self.element, self.facts) = (event, element, facts)
        attributes = EventObject(event)
    }

    /// The type for a rule whose sources have such tasks.
    static func type(_ types: TaskTypes) -> ObjectType {
        let task = CELType.nullable(.object(types.task))
        return ObjectType(
            "an event",
            fields: EventObject.type.fields + [
                .init("task", task), .init("before", task), .init("changes", types.changes),
                .init("comment", .nullable(.object(CommentObject.type))),
            ])
    }

    var celType: CELType { .object(EventObject.type) }
    var fieldNames: [String] { EventObject.type.fields.map(\.name) + ["task", "before", "changes", "comment"] }

    func value(named name: String) -> Value? {
        switch name {
        case "task": object(element?.task ?? event.task)
        case "before": object(event.data[.before].flatMap(Snapshot.init(json:)))
        case "changes":
            .map(Value.Map(ChangedFields(event.changes ?? [:]) { self.facts.types.value($0, of: $1, in: self.event.source) }))
        case "comment": event.data[.comment]?.asObject.map { .object(CommentObject($0)) } ?? .null
        default: attributes.value(named: name)
        }
    }

    private func object(_ snapshot: Snapshot?) -> Value {
        snapshot.map { .object(TaskObject($0, source: element?.source ?? event.source, types: facts.types, type: facts.anyTask)) }
            ?? .null
    }

    func isEqual(to other: any HostObject) -> Bool { (other as? GatheredEvent).map { $0.event.id == event.id } ?? false }
    func hash(into hasher: inout Hasher) { hasher.combine(event.id) }
}
