/// The name of an act in the audit.
public enum AuditAct: String, Sendable, Hashable, CaseIterable {
    case retry, drop, edit, pause, resume, forget, replay
    /// Changed rules are in force.
    case reload
    /// The oldest rows of the audit were removed.
    case prune
    case addSilence = "silence add"
    case endSilence = "silence end"
    case addToken = "console token add"
    case removeToken = "console token remove"
    /// A rule file was changed or made in the console.
    case editRules = "edit rules"
    case addRules = "add rules"

    public init(_ command: DeliveryCommand) {
        switch command {
        case .retry: self = .retry
        case .drop: self = .drop
        }
    }
}

/// The name of an attempt's outcome in the audit.
public enum AttemptOutcome: String, Sendable, Hashable, CaseIterable {
    case done, retry, postponed, paused, dead, held
    /// The agent ended before the attempt did.
    case interrupted
}
