public import BellhopCore
import CEL

/// A condition in the rules' language over stored events: a search.
public struct EventFilter: Sendable {
    private let condition: RuleExpression
    private let reading: SilenceBook.Reading

    /// - Throws: what is wrong with the condition.
    public init(_ when: String, surroundings: RuleSurroundings) throws(Diagnostics) {
        let cache = SharedNameCache(surroundings)
        let names = SilenceBook.names(surroundings, cache)
        condition = try SilenceBook.compile(when, names, "where", of: "a search")
        let slots = names.environment.slots
        reading = SilenceBook.Reading(facts: RunFacts(surroundings, slots: slots, groups: cache.groups), slots: slots)
    }

    /// The events for which the condition holds. One whose condition fails or is unknown is left out.
    public func matches(among events: [StoredEvent], at now: BellhopCore.Timestamp) -> [StoredEvent] {
        let frame = RunFrame(reading.facts, events: events, now: now)
        let activation = Activation(reading.slots)
        return events.indices.filter { place in
            frame.move(to: place)
            activation.begin(frame)
            activation.workLeft = RuleBook.workPerRun
            return if case .yes = condition.program.verdict(activation) { true } else { false }
        }.map { events[$0] }
    }
}

extension RuleBook {
    /// A search against the sources of these rules.
    public func filter(_ when: String) throws(Diagnostics) -> EventFilter { try EventFilter(when, surroundings: surroundings) }

    /// These rules from the same files, so that each part of a condition has its value: for ``judge(_:by:tasks:at:)``.
    public func explainable(_ files: [RuleFile]) throws(Diagnostics) -> RuleBook {
        try Self.loadToExplain(files, surroundings: surroundings)
    }
}
