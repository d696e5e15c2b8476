public import BellhopCore

/// Which rules run for which events of a batch, before the rules' state and the snapshots are known.
public struct Matches: Sendable {
    /// The events of the batch, matched or not: all, or only the first if matching was expensive.
    public internal(set) var events: [StoredEvent]
    /// The rules' state that deciding needs.
    public internal(set) var stateKeys: [StateKey] = []
    /// The scopes whose tasks deciding needs.
    public internal(set) var scopesNeeded: [Scope.ID] = []
    var runs: [Run] = []
    var errors: [RuleError] = []

    /// Whether no rule matches any of the events: deciding then only marks them as routed.
    public var isEmpty: Bool { runs.isEmpty && errors.isEmpty }

    /// A rule that runs for an event, unless its state prevents it.
    struct Run: Sendable {
        /// The event's place in the batch.
        var event: Int
        /// The rule's place in the book.
        var rule: Int
        /// False if the condition depends on the time or the snapshots.
        var isCertain: Bool
        var once: String?
        var throttle: String?
        /// Why the rule cannot run, if its condition holds.
        var failure: String?
    }

    /// A rule that failed for an event.
    struct RuleError: Sendable {
        /// The event's place in the batch.
        var event: Int
        var rule: Int
        var message: String
    }
}
