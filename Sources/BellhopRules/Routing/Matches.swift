public import BellhopCore

/// Which rules run for which events of a batch, as far as that is known without the rules' state and the snapshots.
public struct Matches: Sendable {
    /// The events of the batch, those that no rule is for included: all, or the first of them where matching cost much.
    public internal(set) var events: [StoredEvent]
    /// What must be known of the rules' state to decide.
    public internal(set) var stateKeys: [StateKey] = []
    /// Whose tasks must be known to decide.
    public internal(set) var scopesNeeded: [Scope.ID] = []
    var runs: [Run] = []
    var errors: [RuleError] = []

    /// Whether no rule is for any of the events: deciding then only marks them as routed.
    public var isEmpty: Bool { runs.isEmpty && errors.isEmpty }

    /// A rule that runs for an event, unless its state speaks against it.
    struct Run: Sendable {
        /// The event's place in the batch.
        var event: Int
        /// The rule's place in the book.
        var rule: Int
        /// False where the condition can be judged only when the time and the snapshots are known.
        var isCertain: Bool
        var once: String?
        var throttle: String?
        /// Why the rule cannot run, should its condition hold.
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
