import BellhopCore
import CEL

/// The types of tasks in expressions: the fields that all their sources declare, or at least one, each with the type they agree on.
struct TaskTypes: Sendable {
    let task: ObjectType
    let fields: ObjectType
    let labels: ObjectType
    /// `changes`: each changed field with `from` and `to`.
    let changes: CELType
    /// The fields that may be among the changes.
    let changeable: [String]
    let isOpen: Bool
    private let schemas: [TaskSchema]

    /// - Parameters:
    ///   - isOpen: without a configuration no fields are declared; custom fields are then allowed.
    ///   - hasAllFields: whether fields that only some sources declare may be used; tasks of the others have no value for them.
    init(_ sources: [RuleContext.SourceFacts], isOpen: Bool, hasAllFields: Bool = false) {
        var declared = Self.declared(sources.map(\.schema), hasAllFields: hasAllFields)
        let created = sources.compactMap(\.schema.created)
        if let first = created.first, hasAllFields || created.count == sources.count,
            !declared.contains(where: { $0.name == Snapshot.created })
        {
            let isSame = created.allSatisfy { $0.type == first.type }
            declared.append(ObjectType.Field(Snapshot.created, isSame ? CELType(first.type) : .dyn))
        }
        let bookkeeping = sources.reduce(into: Set<String>()) { $0.formUnion($1.schema.roles.bookkeeping) }
        let name = Self.name(isOpen ? [] : sources.map(\.name))
        let labelFields = declared.map { ObjectType.Field($0.name, .nullable(.string)) }
        labels = ObjectType("the labels of " + name, fields: labelFields, otherFields: isOpen ? .dyn : nil)
        fields = ObjectType(name, fields: declared, otherFields: isOpen ? .dyn : nil)
        let own = Self.ownFields(labels: labels, fields: fields)
        let rest = declared.filter { !Snapshot.ownNames.contains($0.name) }
        task = ObjectType(name, fields: own + rest, otherFields: isOpen ? .dyn : nil)
        let change = ObjectType("change", fields: [EventKey.from, .to].map { .init($0.rawValue, .dyn) })
        changes = .map(.string, .nullable(.object(change)))
        changeable = ["number", "title", "class"] + rest.map(\.name).filter { !bookkeeping.contains($0) }
        self.isOpen = isOpen
        schemas = sources.map(\.schema)
    }

    /// Whether a source may have a field that it does not declare.
    func isCustom(_ field: String) -> Bool { schemas.contains { $0.isCustom(field) } }

    private static func ownFields(labels: ObjectType, fields: ObjectType) -> [ObjectType.Field] {
        Snapshot.ownNames.map { name in
            switch name {
            case "labels": .init(name, .object(labels))
            case "fields": .init(name, .object(fields))
            default: .init(name, .string)
            }
        }
    }

    /// `a task of source `x``, the end of messages about its fields.
    private static func name(_ sources: [String]) -> String {
        switch sources.count {
        case 0: "a task"
        case 1: "a task of source `\(sources[0])`"
        default: "a task of sources " + sources.quotedList
        }
    }

    /// The fields that all schemas have, or at least one; differing types show only when the expression runs.
    private static func declared(_ schemas: [TaskSchema], hasAllFields: Bool) -> [ObjectType.Field] {
        let candidates = (hasAllFields ? schemas[...] : schemas.prefix(1)).flatMap(\.fields).map(\.name).unique()
        return candidates.compactMap { name in
            let types = schemas.compactMap { $0[name]?.type }
            guard let first = types.first, hasAllFields || types.count == schemas.count else { return nil }
            return ObjectType.Field(name, types.allSatisfy { $0 == first } ? CELType(first) : .dyn)
        }
    }
}

extension CELType {
    /// The type of a declared field. Text is never null.
    init(_ type: FieldType) {
        switch type {
        case .text: self = .string
        case .int: self = .nullable(.int)
        case .double: self = .nullable(.double)
        case .bool: self = .nullable(.bool)
        case .timestamp: self = .nullable(.timestamp)
        }
    }
}
