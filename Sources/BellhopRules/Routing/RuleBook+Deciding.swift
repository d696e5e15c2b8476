public import BellhopCore

extension RuleBook {
    /// The work that the expressions of one rule may do for one event: when it is matched, and again when it is decided.
    static let workPerRun: Int64 = 40_000_000
    /// The work after which what is left of a batch comes with the next one.
    static let workPerBatch: Int64 = 400_000_000

    /// Decides what a batch of events leads to: deliveries, what rules remember, the mark that the events are routed. Pure.
    ///
    /// Where the deliveries become many bytes, only the first events of the batch are routed; one of them at least.
    public func decide(
        _ matches: Matches, state: [StateKey: JSON], tasks: [Scope.ID: [Snapshot]], at now: Timestamp
    ) -> Routing {
        guard !matches.isEmpty else { return Routing(routed: matches.events.map(\.sequence)) }
        var decision = Decision(self, matches, state: state, tasks: tasks, at: now)
        return decision.routing()
    }

    /// The same, with what stopped runs and steps: for tests.
    func decideTracing(
        _ matches: Matches, state: [StateKey: JSON], tasks: [Scope.ID: [Snapshot]], at now: Timestamp
    ) -> (routing: Routing, stops: [Decision.Stop]) {
        var decision = Decision(self, matches, state: state, tasks: tasks, at: now, isTracing: true)
        return (decision.routing(), decision.stops)
    }
}
