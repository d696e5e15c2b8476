public import BellhopCore

extension RuleBook {
    /// Decides what a batch of events leads to: deliveries, what rules remember, the mark that the events are routed. Pure.
    public func decide(
        _ matches: Matches, state: [StateKey: JSON], tasks: [Scope.ID: [Snapshot]], at now: Timestamp
    ) -> Routing {
        let routed = matches.events.map(\.sequence)
        guard !matches.isEmpty else { return Routing(routed: routed) }
        var decision = Decision(self, matches, state: state, tasks: tasks, at: now)
        for error in matches.errors { decision.count(error: error.message, of: error.rule) }
        for run in matches.runs { decision.run(run) }
        return decision.routing(routed)
    }
}
