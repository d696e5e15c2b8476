public import BellhopCore
import CEL

/// All rules, checked together and compiled. Reloading replaces the whole value.
public struct RuleBook: Sendable {
    let compiled: [Rule]
    let index: RuleIndex
    let facts: RunFacts
    let slots: SlotTable
    /// What the rules were checked against.
    public let context: RuleContext
    /// The places of the rules by their names.
    let byName: [String: Int]
    /// The places of the rules whose waits any event may end, by the names of their state.
    let byWait: [String: Int]

    /// Distinguishes this load of the rules from others.
    public final class Identity: Sendable, Equatable {
        public static func == (one: Identity, other: Identity) -> Bool { one === other }
    }
    public let identity = Identity()

    /// The rules, in the order of the files.
    public let rules: [RuleSummary]
    /// Probable mistakes in rules that work.
    public let warnings: [Diagnostic]

    /// Reads and checks all rules of all files and reports every problem. Test files are skipped.
    public static func load(_ files: [RuleFile], context: RuleContext) throws(Diagnostics) -> RuleBook {
        try RuleLoader(context).load(files)
    }

    /// The same on all processors, for many files.
    public static func loadInParallel(
        _ files: [RuleFile], context: RuleContext
    ) async throws(Diagnostics) -> RuleBook {
        try await RuleLoader(context).loadInParallel(files)
    }

    /// The same for tests and ``judge(_:by:tasks:at:)``, which then knows the value of each part of a condition.
    ///
    /// - Parameter coverage: counts what the tests cover.
    public static func loadToExplain(
        _ files: [RuleFile], context: RuleContext, coverage: CoverageRecord? = nil
    ) throws(Diagnostics) -> RuleBook {
        try RuleLoader(context, purpose: coverage.map(ExpressionPurpose.measuring) ?? .explaining).load(files)
    }

    private let cache: SharedNameCache
    /// The quiet times of connections, by their names.
    let quiet: [String: Quiet]
    /// The rules of escalations under way that began before the rules changed, by the name of the rule and the version of its steps.
    let former: [String: [String: Rule]]
    /// The sources whose tasks may have escalations; nil for all, empty if no rule escalates.
    let escalating: Set<String>?

    init(
        _ rules: [Rule], _ context: RuleContext, cache: SharedNameCache, quiet: [String: Quiet],
        warnings: [Diagnostic], former: [String: [String: Rule]] = [:]
    ) {
        (self.cache, self.quiet, self.former) = (cache, quiet, former)
        let escalated = (rules.filter { !$0.isOff } + former.values.flatMap(\.values)).filter { $0.escalation != nil }
        escalating = escalated.contains { $0.sources.isEmpty } ? nil : Set(escalated.flatMap(\.sources))
        slots = cache.base.slots
        self.context = context
        facts = RunFacts(context, slots: slots, groups: cache.groups)
        compiled = rules
        // Events about deliveries show their task as it was for the message, not its current state.
        let types = context.events.definitions.filter { $0.origin != .delivery }.map(\.type)
        index = RuleIndex(rules, readers: facts.readers, types: types)
        hasWaits = !escalated.isEmpty || rules.contains { !$0.isOff && !$0.time.isEmpty }
        timed = TimedEvents(rules + former.values.flatMap(\.values), facts, types: types)
        byName = Dictionary(uniqueKeysWithValues: rules.enumerated().map { ($1.name, $0) })
        byWait = Dictionary(
            uniqueKeysWithValues: rules.enumerated().filter { $1.watchesAllEvents }.map { ($1.stateKey(.hold, "").rule, $0) })
        self.rules = rules.map(\.summary)
        self.warnings = warnings
    }

    /// These rules with those of escalations that began before the rules changed.
    ///
    /// - Parameter texts: the stored texts of all rules whose escalations may be under way, by rule and version.
    public func keeping(_ texts: [String: [String: JSON]]) -> RuleBook {
        var former: [String: [String: Rule]] = [:]
        for (name, versions) in texts {
            guard let rule = rule(named: name) else { continue }
            for (version, json) in versions where version != rule.escalation?.version {
                guard let text = json["text"]?.asString else { continue }
                former[name, default: [:]][version] = RuleReader.former(
                    text, name: name, version: version, in: context, sharing: cache)
            }
        }
        if former.isEmpty { return self }
        return RuleBook(compiled, context, cache: cache, quiet: quiet, warnings: warnings, former: former)
    }

    /// Only the rules with these names, as if the files had no others.
    func only(_ names: Set<String>) -> RuleBook {
        RuleBook(compiled.filter { names.contains($0.name) }, context, cache: cache, quiet: quiet, warnings: warnings)
    }

    /// The rule as it was when an escalation of this version began; nil if it no longer fits the configuration.
    func rule(_ number: Int, of version: String) -> Rule? {
        let rule = compiled[number]
        return rule.escalation?.version == version ? rule : former[rule.name]?[version]
    }

    /// The rules as the store records them: their revisions, and when their schedules are next due.
    public func registrations(at now: Timestamp) -> [RuleRegistration] {
        compiled.map { rule in
            let schedule =
                rule.isOff
                ? nil
                : rule.schedule.flatMap { schedule in
                    schedule.first(after: now).map { RuleRegistration.Schedule(text: schedule.text, next: $0) }
                }
            return RuleRegistration(
                name: rule.name, revision: rule.summary.revision, schedule: schedule, waits: rule.isOff ? nil : rule.waits,
                beginsByItself: (rule.time.hold?.existing == true || rule.time.pattern?.beginsByItself == true) && !rule.isOff,
                sources: rule.isOff ? [] : beginnings(of: rule), readsEvents: rule.readsDigest && !rule.isOff, isOff: rule.isOff,
                calendars: rule.isOff ? nil : rule.time.calendars, maxKeys: context.maxKeys)
        }
    }

    /// The sources and connections for each of which waits of a rule begin by themselves.
    private func beginnings(of rule: Rule) -> [String] {
        if let pattern = rule.time.pattern, pattern.beginsByItself { return pattern.isBySource ? pattern.watched : [] }
        return rule.time.hold?.existing == true ? facts.sources(of: rule).map(\.name) : []
    }

    func rule(named name: String) -> Rule? { byName[name].map { compiled[$0] } }

    public func contains(_ rule: String) -> Bool { byName[rule] != nil }

    /// Whether a rule has a part that waits, counts or gathers.
    public func waits(_ rule: String) -> Bool { self.rule(named: rule)?.time.isEmpty == false }

    /// Whether a rule waits for timers that events may end.
    public let hasWaits: Bool
    /// The events that can matter to rules with timers.
    let timed: TimedEvents

    public func scope(of source: String) -> Scope.ID? { facts.scope(of: source) }

    /// The source with this name, or those that read from the connection with this name.
    public func sources(polledFor name: String) -> [(source: String, scope: Scope.ID)] {
        if let scope = facts.scope(of: name) { return [(name, scope)] }
        return context.sources.filter { !name.isEmpty && $0.connection == name }.map { ($0.name, $0.scope) }
    }

    /// The sources and connections whose events end the absences of a rule, whichever source began them.
    public func sourcesEndingAbsences(of rule: String) -> [String] {
        self.rule(named: rule)?.time.pattern?.sourcesEndingAbsences ?? []
    }

    /// How many keys each rule may remember.
    public var maxKeys: Int { context.maxKeys }

    /// The scopes whose tasks or events a rule reads.
    public func scopesRead(by rule: String) -> [Scope.ID] {
        guard let rule = self.rule(named: rule) else { return [] }
        return rule.readsDigest ? rule.scopes + rule.scopesRead : rule.scopesRead
    }
}

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

    /// The keys of the waits that the batch may end, by the names of the rules' state: deciding needs their state, too.
    public func waits(endedBy matches: Matches) -> [String: [String]] {
        var keys: [Int: [String]] = [:]
        for ending in matches.endings { for rule in ending.rules { keys[rule, default: []].append(ending.wait) } }
        return Dictionary(uniqueKeysWithValues: keys.map { (compiled[$0].stateKey(.hold, "").rule, $1) })
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

/// A description of a rule, available without running it.
public struct RuleSummary: Sendable, Hashable {
    public enum Mode: Sendable, Hashable {
        case live, shadow, off
        case canary(Canary)

        var isCanary: Bool { if case .canary = self { true } else { false } }
    }

    public var name: String
    public var file: String
    public var line: Int
    public var description: String?
    public var types: [EventType]
    /// The sources that `from` names; empty for all.
    public var sources: [String]
    /// Changes with the rule's own text.
    public var revision: String
    public var mode: Mode
    /// Its schedule, such as `30 8 * * MON-FRI Europe/Berlin`; nil without one.
    public var schedule: String?
    /// The kinds of its actions, in order.
    public var actions: [String]
    /// The abilities that its actions need of connections, in the order of the actions.
    public var uses: [ActionUse]
}
