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

    var needs: RuleExpression.Needs {
        var needs = condition?.needs ?? []
        switch content {
        case .values(let values): for value in values { needs.formUnion(value.value.needs) }
        case .message(let message): needs.formUnion(message.needs)
        }
        return needs
    }
}
