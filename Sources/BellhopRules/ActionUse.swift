public import BellhopCore

/// The requirements of a step on its connections, as far as the rule's text shows them; for checks in advance.
public struct ActionUse: Sendable, Hashable {
    public var action: String
    public var connections: [String]
    /// The fields that the step sets.
    public var fields: [String]
    /// Arguments that are the same for every event.
    public var constants: JSON.Object

    public init(action: String, connections: [String], fields: [String] = [], constants: JSON.Object = [:]) {
        (self.action, self.connections, self.fields, self.constants) = (action, connections, fields, constants)
    }

    init(_ step: Step, sources: [RuleContext.SourceFacts]) {
        switch step.receivers {
        case .taskConnection: connections = sources.map(\.connection).unique()
        case .named(let names): connections = names
        case .argument: connections = []
        }
        action = step.action.kind
        fields = []
        constants = [:]
        guard case .values(let values) = step.content else { return }
        for (name, value) in values {
            switch value {
            case .constant(let value):
                constants[name] = value
                if name == "fields" { fields = value.asObject?.keys ?? [] }
            case .members(let members) where name == "fields": fields = members.map(\.name)
            case .members, .list, .text, .whole: continue
            }
        }
    }
}
