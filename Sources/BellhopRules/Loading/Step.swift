import BellhopCore

/// One action of a rule, ready to be rendered for an event.
struct Step: Sendable {
    /// To whom its deliveries go: one each.
    enum Receivers: Sendable, Hashable {
        /// The connection of the task's source.
        case taskConnection
        case named([String])
        /// What this argument says, or else the action's own name.
        case argument(String)
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
    /// The id of another task than the event's to write to.
    var task: ArgumentTemplate?
    var retry: RetryPolicy
    var expires: Duration?
    var stopsOnError: Bool

    /// Whether it may send a request of which nobody knows what it writes to one of these connections. Where a source reads from it, that
    /// may lead to the next event, and nothing tells that it was our own deed.
    func mayWriteUnseen(to connections: Set<String>) -> Bool {
        guard action.effect == nil, !action.isMessage, case .named(let names) = receivers else { return false }
        return names.contains { connections.contains($0) }
    }

    /// Whether a value decides which host is asked.
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
