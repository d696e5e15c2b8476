import BellhopCore
import CEL

/// The facts that a frame needs besides the run. They are the same for all runs of a rule book.
struct RunFacts: Sendable {
    var readers: [SlotReader]
    var types: FieldTypes
    var events: EventCatalogue
    var actions: [String: ActionManifest]
    /// The user whose tasks each source shows.
    var users: [String: String]
    /// The connection that each source reads from; writes to its tasks go there.
    var connections: [String: String]
    /// The scope of each source, and the instance that its tasks are of.
    private var scopes: [String: Scope.ID]
    private var instances: [String: String]
    private var sourcesInOrder: [(name: String, scope: Scope.ID)]
    var readConnections: Set<String>
    /// The connections that can close an alert that a message opened.
    private var pagers: Set<String>
    var schemas: [String: TaskSchema]
    /// The schema of a source that the configuration does not have; nil with a configuration.
    var assumed: TaskSchema?
    /// The most bytes that one delivery may send.
    var largestDelivery: Int
    /// The type that `type(task)` shows.
    let anyTask = ObjectType("task", fields: [], otherFields: .dyn)

    /// - Parameter slots: the slots of all expressions that use the frame.
    init(_ context: RuleContext, slots: SlotTable, groups: [String: TaskGroup]) {
        let types = FieldTypes(context)
        self.types = types
        events = context.events
        actions = Dictionary(context.actions.map { ($0.kind, $0) }) { first, _ in first }
        readers = slots.all.map { SlotReader($0, types: types, groups: groups) }
        users = Dictionary(context.sources.map { ($0.name, $0.user) }) { first, _ in first }
        connections = Dictionary(context.sources.map { ($0.name, $0.connection) }) { first, _ in first }
        readConnections = Set(context.sources.map(\.connection))
        pagers = Set(context.connections.filter { $0.messages.resolves == .yes }.map(\.name))
        largestDelivery = context.largestDelivery
        scopes = Dictionary(context.sources.map { ($0.name, $0.scope) }) { first, _ in first }
        sourcesInOrder = context.sources.map { ($0.name, $0.scope) }
        instances = Dictionary(context.sources.map { ($0.name, $0.instance) }) { first, _ in first }
        schemas = Dictionary(context.sources.map { ($0.name, $0.schema) }) { first, _ in first }
        assumed = context.assumed
    }

    /// The scope of a source; without a configuration, each has one.
    func scope(of source: String) -> Scope.ID? {
        scopes[source] ?? (assumed == nil ? nil : RuleContext.assumedScope(source))
    }

    /// Whether the receiver of a message may close what the message opened; without a configuration, any may.
    func isPager(_ receiver: String) -> Bool { assumed != nil || pagers.contains(receiver) }

    func sources(of rule: Rule) -> [(name: String, scope: Scope.ID)] {
        if assumed != nil {
            return (rule.sources.isEmpty ? [""] : rule.sources).map { ($0, RuleContext.assumedScope($0)) }
        }
        return sourcesInOrder.filter {
            rule.scopes.contains($0.scope) && (rule.sources.isEmpty || rule.sources.contains($0.name))
        }
    }

    /// The subject of events about a task.
    func subject(of key: TaskKey, in source: String) -> String { "\(instances[source] ?? "test")/\(key.text)" }

    /// Whether bellhop.yaml has the source; without a configuration, any source may be.
    func isConfigured(_ source: String) -> Bool { connections.isEmpty || connections[source] != nil }

    /// The connection of a source; without a configuration they have the same name.
    func connection(of source: String) -> String { connections[source] ?? source }
}
