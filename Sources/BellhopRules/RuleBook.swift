public import BellhopCore
import CEL

/// All rules, checked together and compiled. Reloading replaces the whole value.
public struct RuleBook: Sendable {
    let compiled: [Rule]
    let index: RuleIndex
    let facts: RunFacts
    let slots: SlotTable
    let surroundings: RuleSurroundings
    /// The places of the rules by their names.
    let byName: [String: Int]

    /// Tells this load of the rules from others.
    public final class Identity: Sendable, Equatable {
        public static func == (one: Identity, other: Identity) -> Bool { one === other }
    }
    public let identity = Identity()

    /// The rules, in the order of the files.
    public let rules: [RuleSummary]
    /// Probable mistakes in rules that work.
    public let warnings: [Diagnostic]

    /// Reads and checks all rules of all files and reports every problem. Test files are skipped.
    public static func load(_ files: [RuleFile], surroundings: RuleSurroundings) throws(Diagnostics) -> RuleBook {
        try RuleLoader(surroundings).load(files)
    }

    /// The same on all processors, for many files.
    public static func loadInParallel(
        _ files: [RuleFile], surroundings: RuleSurroundings
    ) async throws(Diagnostics) -> RuleBook {
        try await RuleLoader(surroundings).loadInParallel(files)
    }

    /// The same for tests: conditions can explain each of their parts.
    static func explainable(_ files: [RuleFile], surroundings: RuleSurroundings) throws(Diagnostics) -> RuleBook {
        try RuleLoader(surroundings, keepsSources: true).load(files)
    }

    /// The quiet times of connections, by their names.
    let quiet: [String: Quiet]

    init(
        _ rules: [Rule], _ surroundings: RuleSurroundings, cache: SharedNameCache, quiet: [String: Quiet],
        warnings: [Diagnostic]
    ) {
        self.quiet = quiet
        slots = cache.base.slots
        self.surroundings = surroundings
        facts = RunFacts(surroundings, slots: slots, groups: cache.groups)
        compiled = rules
        index = RuleIndex(rules, readers: facts.readers, types: surroundings.events.types)
        hasWaits = rules.contains { !$0.isOff && !$0.time.isEmpty }
        byName = Dictionary(uniqueKeysWithValues: rules.enumerated().map { ($1.name, $0) })
        self.rules = rules.map(\.summary)
        self.warnings = warnings
    }

    /// The rules as the store records them: their revisions, and when their schedules are next due.
    public func registrations(at now: BellhopCore.Timestamp) -> [RuleRegistration] {
        compiled.map { rule in
            let schedule =
                rule.isOff
                ? nil
                : rule.schedule.flatMap { schedule in
                    schedule.first(after: now).map { RuleRegistration.Schedule(text: schedule.text, next: $0) }
                }
            return RuleRegistration(
                name: rule.name, revision: rule.summary.revision, schedule: schedule, waits: rule.isOff ? nil : rule.waits,
                startsWithExisting: rule.time.hold?.existing == true && !rule.isOff, isOff: rule.isOff)
        }
    }

    func rule(named name: String) -> Rule? { byName[name].map { compiled[$0] } }

    public func contains(_ rule: String) -> Bool { byName[rule] != nil }

    /// Whether a rule waits for timers that events may end.
    public let hasWaits: Bool

    /// The scope of a source.
    public func scope(of source: String) -> Scope.ID? { facts.scope(of: source) }

    /// The scopes whose tasks a rule reads.
    public func scopesRead(by rule: String) -> [Scope.ID] {
        guard let rule = self.rule(named: rule) else { return [] }
        return rule.scopesRead
    }
}
