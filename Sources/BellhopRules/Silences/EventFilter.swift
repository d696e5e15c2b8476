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

    /// The places of the events for which the condition holds. One whose condition fails or is unknown is left out.
    ///
    /// - Parameter isOver: asked after each event; true to leave out the rest.
    public func matches(
        among events: [StoredEvent], at now: BellhopCore.Timestamp, isOver: () -> Bool = { false }
    ) -> Matched {
        let frame = RunFrame(reading.facts, events: events, now: now)
        let activation = Activation(reading.slots)
        return Matched(among: events.count, isOver: isOver) { place in
            frame.move(to: place)
            activation.begin(frame)
            return condition.program.holds(activation)
        }
    }
}

/// The result of a search.
public struct Matched: Sendable {
    /// Those for which the condition holds.
    public private(set) var places: [Int] = []
    /// How many it has looked at.
    public private(set) var seen = 0

    init(among count: Int, isOver: () -> Bool, _ holds: (Int) -> Bool) {
        for place in 0..<count {
            if holds(place) { places.append(place) }
            seen += 1
            if isOver() { return }
        }
    }
}

extension Program {
    /// Whether a condition holds for one of many. It has as much work as one run of a rule.
    func holds(_ activation: Activation) -> Bool {
        activation.workLeft = RuleBook.workPerRun
        return if case .yes = verdict(activation) { true } else { false }
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
