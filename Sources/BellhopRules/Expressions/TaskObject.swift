import BellhopCore
import CEL

/// A task as expressions see it; fields are converted on access.
final class TaskObject: HostObject {
    let snapshot: Snapshot
    let source: String
    private let types: FieldTypes
    private let type: ObjectType

    init(_ snapshot: Snapshot, source: String, types: FieldTypes, type: ObjectType) {
        (self.snapshot, self.source, self.types, self.type) = (snapshot, source, types, type)
    }

    var celType: CELType { .object(type) }

    func value(named name: String) -> Value? {
        switch name {
        case "id": .string(snapshot.key.text)
        case "number": .string(snapshot.number)
        case "title": .string(snapshot.title)
        case "type": .string(snapshot.type)
        case "class": .string(snapshot.className)
        case "url": .string(snapshot.url)
        case "source": .string(source)
        case "labels": .object(LabelsObject(snapshot.labels))
        case "fields": .object(FieldsObject(self))
        default: field(name)
        }
    }

    /// A declared field, or an undeclared one that the task has.
    func field(_ name: String) -> Value? {
        var place = 0
        let value = types.value(of: name, in: snapshot.fields, of: source, near: &place)
        if let type = types.type(of: name, in: source) { return Value(value, as: type) }
        return value.map { Value($0) }
    }

    var fieldNames: [String] {
        Snapshot.ownNames.filter { $0 != "fields" } + snapshot.fields.keys.filter { !Snapshot.ownNames.contains($0) }
    }

    func isEqual(to other: any HostObject) -> Bool {
        (other as? TaskObject).map { $0.snapshot == snapshot && $0.source == source } ?? false
    }

    func hash(into hasher: inout Hasher) { hasher.combine(snapshot.key) }
}

/// `task.fields`: fields by their own names, including those shadowed by a task's own names.
final class FieldsObject: HostObject {
    private let task: TaskObject

    init(_ task: TaskObject) { self.task = task }

    var celType: CELType { .map(.string, .dyn) }
    func value(named name: String) -> Value? { task.field(name) ?? .null }
    var fieldNames: [String] { task.snapshot.fields.keys }
    func isEqual(to other: any HostObject) -> Bool {
        (other as? FieldsObject).map { $0.task.snapshot.fields == task.snapshot.fields } ?? false
    }
    func hash(into hasher: inout Hasher) { hasher.combine(task.snapshot.fields) }
}

/// A JSON object with fields: labels, changes. Missing fields are null.
final class LabelsObject: HostObject {
    private let members: JSON.Object

    init(_ members: JSON.Object) { self.members = members }

    var celType: CELType { .map(.string, .dyn) }
    func value(named name: String) -> Value? { members[name].map { Value($0) } ?? .null }
    var fieldNames: [String] { members.keys }
    func isEqual(to other: any HostObject) -> Bool { (other as? LabelsObject).map { $0.members == members } ?? false }
    func hash(into hasher: inout Hasher) { hasher.combine(members) }
}

/// The tasks of a rule's sources, one source after the other, each converted on access.
final class TaskList: HostList {
    private let parts: [(source: String, tasks: [Snapshot])]
    private let types: FieldTypes
    private let type: ObjectType
    let count: Int

    init(_ parts: [(source: String, tasks: [Snapshot])], types: FieldTypes, type: ObjectType) {
        (self.parts, self.types, self.type) = (parts, types, type)
        count = parts.reduce(0) { $0 + $1.tasks.count }
    }

    func element(at index: Int) -> Value {
        var (part, place) = (0, index)
        while place >= parts[part].tasks.count {
            place -= parts[part].tasks.count
            part += 1
        }
        return .object(TaskObject(parts[part].tasks[place], source: parts[part].source, types: types, type: type))
    }
}

/// The comment of an event, as expressions see it.
final class CommentObject: HostObject {
    private let comment: JSON.Object

    init(_ comment: JSON.Object) { self.comment = comment }

    static let type = ObjectType("a comment", fields: EventCatalogue.comment.map { .init($0.name, type(of: $0)) })

    private static func type(of member: Setting) -> CELType {
        if member.name == EventKey.time.rawValue { return .nullable(.timestamp) }
        return member.type == .boolean ? .bool : .string
    }

    var celType: CELType { .object(Self.type) }
    var fieldNames: [String] { Self.type.fields.map(\.name) }

    func value(named name: String) -> Value? {
        switch Self.type.type(of: name) {
        case .string?: .string(comment[name]?.asString ?? "")
        case .bool?: .bool(comment[name] == true)
        case .some: Value(comment[name], as: .timestamp)
        case nil: nil
        }
    }

    func isEqual(to other: any HostObject) -> Bool { (other as? CommentObject).map { $0.comment == comment } ?? false }
    func hash(into hasher: inout Hasher) { hasher.combine(comment) }
}

/// `changes`: each changed field with its old and new value. Any other field is null.
final class ChangedFields: HostMap {
    private let changes: JSON.Object
    private let typed: @Sendable (JSON?, String) -> Value

    /// - Parameter typed: converts one end of a change to the field's type.
    init(_ changes: JSON.Object, typed: @escaping @Sendable (JSON?, String) -> Value) {
        (self.changes, self.typed) = (changes, typed)
    }

    var keys: [Value] { changes.keys.map(Value.string) }
    var absent: Value? { .null }

    func value(for key: Value) -> Value? {
        guard case .string(let name) = key, let change = changes[name] else { return nil }
        return .map([EventKey.from.rawValue: typed(change[.from], name), EventKey.to.rawValue: typed(change[.to], name)])
    }
}
