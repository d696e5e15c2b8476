import BellhopCore

/// One action of a rule, ready to be rendered for an event.
struct Step: Sendable {
    /// Who receives its deliveries: one delivery each.
    enum Receivers: Sendable, Hashable {
        /// The connection of the task's source.
        case taskConnection
        case named([String])
        /// The value of this argument, if there is one, or else the action's own name.
        case argument(String?)
    }

    enum Content: Sendable {
        case values([(name: String, value: ArgumentTemplate)])
        case message(MessageTemplate)
    }

    var path: StepPath
    var name: String?
    var action: ActionManifest
    var condition: RuleExpression?
    var receivers: Receivers
    var content: Content
    /// The id of the task to write to, if not the event's.
    var task: ArgumentTemplate?
    var retry: RetryPolicy
    var expires: Duration?
    var stopsOnError: Bool

    /// Whether the step may send a request with unknown effects to one of these connections. If a source reads from it, the
    /// request may cause the next event, which cannot be recognized as our own change.
    func mayWriteUnseen(to connections: Set<String>) -> Bool {
        guard action.effect == nil, !action.isMessage, case .named(let names) = receivers else { return false }
        return names.contains { connections.contains($0) }
    }

    /// Whether the host of the address comes from an inserted value.
    var hasComputedHost: Bool {
        guard case .values(let values) = content else { return false }
        return values.contains { $0.value.hasComputedHost }
    }

    var needs: RuleExpression.Needs {
        var needs = condition?.needs ?? []
        switch content {
        case .values(let values): for value in values { needs.formUnion(value.value.needs) }
        case .message(let message): needs.formUnion(message.needs)
        }
        return needs
    }
}
