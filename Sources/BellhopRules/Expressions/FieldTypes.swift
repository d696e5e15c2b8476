import BellhopCore
import CEL

/// The field types that each source declares, for reading values.
struct FieldTypes: Sendable {
    private var bySource: [String: [String: FieldType]] = [:]
    /// The types on which all declaring sources agree.
    private var agreed: [String: FieldType] = [:]
    private var disputed: Set<String> = []
    /// The field behind `task.created`, by source; for other sources, the assumed one.
    private var created: [String: String] = [:]
    private var assumedCreated: String?

    init(_ context: RuleContext) {
        for source in context.sources { add(source.schema, of: source.name) }
        guard let assumed = context.assumed else { return }
        add(assumed, of: "")
        assumedCreated = assumed.roles.created
    }

    private mutating func add(_ schema: TaskSchema, of source: String) {
        var types: [String: FieldType] = [:]
        func declare(_ name: String, _ type: FieldType) {
            types[name] = type
            if let other = agreed[name], other != type { disputed.insert(name) }
            agreed[name] = type
        }
        for field in schema.fields { declare(field.name, field.type) }
        if let field = schema.created, types[Snapshot.created] == nil { declare(Snapshot.created, field.type) }
        created[source] = schema.roles.created
        bySource[source] = types
    }

    /// The type of a field that is the same in all sources; nil if it differs, or if no source declares it.
    func type(of field: String) -> FieldType? { disputed.contains(field) ? nil : agreed[field] }

    /// The type of a field in a source; nil if undeclared.
    func type(of field: String, in source: String) -> FieldType? {
        disputed.contains(field) ? bySource[source]?[field] : agreed[field]
    }

    /// The value of a field, which is looked up first where the previous task had it.
    func value(of name: String, in fields: JSON.Object, of source: String, near place: inout Int) -> JSON? {
        if let value = fields.value(of: name, near: &place) { return value }
        guard name == Snapshot.created, let name = created[source] ?? assumedCreated else { return nil }
        return fields[name]
    }

    /// A field's value, converted to the type that its source declares.
    func value(_ json: JSON?, of field: String, in source: String) -> Value {
        if let type = type(of: field, in: source) { return Value(json, as: type) }
        return json.map { Value($0) } ?? .null
    }
}

extension Snapshot {
    /// The short name for the field that says when a task was created, unless the source declares a field of this name.
    static let created = "created"
}

extension TaskSchema {
    /// Whether a field may exist although it is not declared.
    func isCustom(_ field: String) -> Bool { roles.customPrefixes.contains(where: field.hasPrefix) }
}

extension RuleContext {
    /// The scope of a source that is assumed without a configuration.
    static func assumedScope(_ source: String) -> Scope.ID { Scope.ID(text: "assumed/" + source) }

    /// A source as assumed without a configuration.
    func assumedSource(_ name: String) -> SourceFacts {
        SourceFacts(
            name: name, kind: "", connection: name, schema: assumed ?? TaskSchema([]), scope: Self.assumedScope(name), user: "")
    }
}
