public import BellhopCore
import CEL

/// All rules, checked together and compiled. Reloading replaces the whole value.
public struct RuleBook: Sendable {
    let compiled: [Rule]
    let index: RuleIndex
    let facts: RunFacts
    let slots: SlotTable
    private let byName: [String: Int]

    /// The rules, in the order of the files.
    public let rules: [RuleSummary]
    /// Probable mistakes in rules that work.
    public let warnings: [Diagnostic]

    /// Reads and checks all rules of all files and reports every problem. Test files are skipped.
    public static func load(_ files: [RuleFile], surroundings: RuleSurroundings) throws(Diagnostics) -> RuleBook {
        var loader = RuleLoader(surroundings)
        return try loader.load(files)
    }

    /// The same for tests: conditions can explain each of their parts.
    static func explainable(_ files: [RuleFile], surroundings: RuleSurroundings) throws(Diagnostics) -> RuleBook {
        var loader = RuleLoader(surroundings, keepsSources: true)
        return try loader.load(files)
    }

    init(_ rules: [Rule], _ surroundings: RuleSurroundings, cache: SharedNameCache, warnings: [Diagnostic]) {
        slots = cache.base.slots
        facts = RunFacts(surroundings, slots: slots, groups: cache.groups)
        compiled = rules
        index = RuleIndex(rules, readers: facts.readers)
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
            return RuleRegistration(name: rule.name, revision: rule.summary.revision, schedule: schedule, isOff: rule.isOff)
        }
    }

    /// The scopes whose tasks a rule reads.
    public func scopesRead(by rule: String) -> [Scope.ID] {
        guard let rule = byName[rule].map({ compiled[$0] }) else { return [] }
        return rule.stepsNeedTasks || rule.condition?.needs.contains(.tasks) == true ? rule.scopes : []
    }

    /// Fires a due timer: the events for the times that passed, as the rule's `missed` says, and the next time.
    ///
    /// A timer whose rule no longer exists ends without an event.
    public func fire(_ timer: RuleTimer, at now: BellhopCore.Timestamp) -> TimerFiring {
        guard let index = byName[timer.rule], !compiled[index].isOff, let schedule = compiled[index].schedule else {
            return TimerFiring(timer: timer, next: nil, events: [])
        }
        let (occurrences, next) = schedule.fire(due: timer.due, at: now)
        return TimerFiring(
            timer: timer, next: next, events: occurrences.map { Event.scheduleDue(rule: timer.rule, $0, at: now) })
    }
}
