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
        var end = matches.events.count
        var latest = 0
        for run in matches.runs {
            if run.event != latest, decision.isFull {
                end = run.event
                break
            }
            latest = run.event
            decision.run(run)
        }
        for error in matches.errors where error.event < end { decision.count(error: error.message, of: error.rule) }
        return decision.routing(matches.events[..<end].map(\.sequence))
    }
}
