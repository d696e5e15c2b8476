import BellhopCore
import CEL

/// The field types that each source declares, for reading values.
struct FieldTypes: Sendable {
    private var bySource: [String: [String: FieldType]] = [:]
    /// The types on which all declaring sources agree.
    private var agreed: [String: FieldType] = [:]
    private var disputed: Set<String> = []

    init(_ sources: [RuleSurroundings.SourceFacts], isOpen: Bool) {
        for source in sources { add(source.schema, of: source.name) }
        if isOpen { add(.assumed, of: "") }
    }

    private mutating func add(_ schema: TaskSchema, of source: String) {
        var types: [String: FieldType] = [:]
        for field in schema.fields {
            types[field.name] = field.type
            if let other = agreed[field.name], other != field.type { disputed.insert(field.name) }
            agreed[field.name] = field.type
        }
        for (name, meant) in Snapshot.fieldAliases where types[name] == nil {
            guard let type = types[meant] else { continue }
            types[name] = type
            if let other = agreed[name], other != type { disputed.insert(name) }
            agreed[name] = agreed[name] ?? type
        }
        bySource[source] = types
    }

    /// The type of a field that is the same in all sources; nil if it differs, or if no source declares it.
    func type(of field: String) -> FieldType? { disputed.contains(field) ? nil : agreed[field] }

    /// The type of a field in a source; nil if undeclared.
    func type(of field: String, in source: String) -> FieldType? {
        disputed.contains(field) ? bySource[source]?[field] : agreed[field]
    }

    /// A field's value, converted to the type that its source declares.
    func value(_ json: JSON?, of field: String, in source: String) -> Value {
        if let type = type(of: field, in: source) { return Value(json, as: type) }
        return json.map { Value($0) } ?? .null
    }
}

extension Snapshot {
    /// Short names for fields of the record, unless the source declares that name: `created`, as the tracker calls it.
    static let fieldAliases = ["created": "sys_created_on"]

    /// A declared field's value by its name or a short name for it.
    static func field(_ name: String, of fields: JSON.Object) -> JSON? {
        if let value = fields[name] { return value }
        return fieldAliases[name].flatMap { fields[$0] }
    }

    /// The same, looked up first where the previous task had it.
    static func field(_ name: String, of fields: JSON.Object, near place: inout Int) -> JSON? {
        fields.value(of: name, near: &place) ?? fieldAliases[name].flatMap { fields[$0] }
    }
}

extension TaskSchema {
    /// The fields assumed without a configuration: the default fields of a ServiceNow source.
    static let assumed = TaskSchema([
        Field("number", .text), Field("short_description", .text), Field("sys_class_name", .text), Field("priority", .int),
        Field("urgency", .int), Field("impact", .int), Field("state", .int), Field("active", .bool),
        Field("assigned_to", .text, holdsID: true),
        Field("assignment_group", .text, holdsID: true), Field("opened_by", .text, holdsID: true), Field("opened_at", .timestamp),
        Field("due_date", .timestamp),
        Field("sys_created_on", .timestamp), Field("sys_updated_on", .timestamp),
    ])
}

extension RuleSurroundings.SourceFacts {
    /// A source as assumed without a configuration.
    static func assumed(_ name: String) -> Self {
        Self(name: name, kind: "", connection: name, schema: .assumed, scope: Scope.ID(text: "assumed/" + name), user: "")
    }
}
