public import BellhopCore

extension RuleBook {
    /// The most work that one rule's expressions may do for one event in matching, and again in deciding.
    static let workPerRun: Int64 = 40_000_000
    /// The work after which the rest of a batch is left for the next one.
    static let workPerBatch: Int64 = 400_000_000

    /// The work, a few milliseconds of it, after which a batch looks whether its task is cancelled.
    private static let workBeforeCancelling: Int64 = 100_000

    /// Whether the agent stops and the batch is large. Matching then leaves out the current event, and deciding leaves out the
    /// batch.
    static func isCancelled(after work: Int64) -> Bool { work >= workBeforeCancelling && Task.isCancelled }

    /// The keys of the waits that the batch may end: deciding needs their state, too.
    public func waits(endedBy matches: Matches) -> [StateKey] {
        matches.endings.flatMap { ending in ending.rules.map { compiled[$0].stateKey(.hold, ending.wait) } }
    }

    /// Decides what a batch of events or due timers causes: deliveries, the rules' new state and timers, the mark that the batch
    /// is done. If facts are missing, it returns the needs for them instead, and the caller calls it again with these facts. Pure,
    /// except that it checks whether its task is cancelled.
    ///
    /// If the result is too large for one transaction, it decides only the first events or timers of the batch, at least one. If the
    /// task is cancelled meanwhile, the result has only the events that were decided completely; the next start decides the others
    /// again.
    public func decide(
        _ matches: Matches, _ facts: RoutingFacts, silences: SilenceBook = .empty, at now: Timestamp
    ) -> Decided {
        guard !matches.isEmpty else {
            var routing = Routing(routed: matches.replay == nil ? matches.events.map(\.sequence) : [])
            routing.replayed = matches.replay?.id
            return .routing(routing)
        }
        var decider = BatchDecider(self, matches, facts, silences: silences, at: now)
        return decider.decided()
    }
}
