import BellhopCore
import CEL
import Synchronization

/// The names that one rule's expressions may use, with their types.
struct RuleNames {
    var environment: Environment
    let types: TaskTypes
    let sources: [RuleContext.SourceFacts]
    let snapshots: SnapshotFunction
    /// The types of events the rule is for.
    let events: [EventDefinition]
    let queryHint: RuleContext.QueryHint
    private(set) var hasNoEvent = false
    /// Whether the rule runs for each task of a list.
    private(set) var isForElement = false
    /// The name of the rule's time zone: `zone` in expressions.
    let zone: String
    /// The names that the values of `let` use.
    private(set) var variables: [String: [String]] = [:]
    /// The facts that each name needs at routing.
    private(set) var needs: [String: RuleExpression.Needs] = ["tasks": .tasks, "now": .now]

    /// - Parameters:
    ///   - base: an environment with the names that all rules of these sources share.
    ///   - isForElement: whether the rule runs for each task of a list.
    init(_ base: SharedNames, rule: String, events: [EventDefinition], zone: String, isForElement: Bool = false) {
        self.init(base, events: events, zone: zone)
        self.isForElement = isForElement
        if isForElement { environment.declare("task", .object(types.task)) }
        environment.declare(.init("rule", .string, scope: rule))
    }

    /// The names available without a rule.
    init(_ base: SharedNames, events: [EventDefinition], zone: String) {
        environment = base.environment
        types = base.types
        sources = base.sources
        snapshots = base.snapshots
        queryHint = base.queryHint
        (self.events, self.zone) = (events, zone)
        environment.declare(.init("zone", .string, scope: zone))
        if events.contains(where: { $0[.task] != nil }) {
            let task = CELType.object(types.task)
            environment.declare("task", events.allSatisfy(\.hasTask) ? task : .nullable(task))
            environment.declare("before", .nullable(task))
            environment.declare("changes", types.changes)
        }
        if events.contains(where: { $0[.comment] != nil }) {
            let comment = CELType.object(CommentObject.type)
            environment.declare("comment", events.allSatisfy { $0[.comment] != nil } ? comment : .nullable(comment))
        }
    }

    /// Whether a run has a task of its own, to which it can write.
    var isAboutTask: Bool { isForElement || events.contains(where: \.hasTask) }

    mutating func declareNoEvent() {
        hasNoEvent = true
        environment.declare("event", .nullable(.object(EventObject.type)))
    }

    /// Declares the names for the events that a rule with these parts has waited for, counted or gathered.
    mutating func declare(_ parts: Set<String>) {
        func declare(_ name: String, _ type: CELType) {
            environment.declare(name, type)
            needs[name] = .gathered
        }
        if !parts.isDisjoint(with: ["count", "group", "all", "sequence"]) {
            declare("events", .list(.object(GatheredEvent.type(types))))
        }
        if !parts.isDisjoint(with: ["for", "count", "group", "all", "sequence", "none"]) {
            declare("key", .nullable(.string))
            declare("since", .timestamp)
        }
    }

    /// Declares the names for a digest: the events of its sources that a scheduled rule receives.
    mutating func declareDigest() {
        environment.declare("events", .list(.object(GatheredEvent.type(types))))
        environment.declare("events_more", .int)
        needs["events"] = .digest
        needs["events_more"] = .digest
    }

    /// Declares a `let` value.
    mutating func declare(_ name: String, _ expression: Expression, needs: RuleExpression.Needs, rule: String) {
        environment.declare(.init(name, expression, scope: rule))
        variables[name] = expression.references.variables + expression.references.functions
        self.needs[name] = needs
    }

    mutating func declare(element name: String, _ type: CELType, scope: String) {
        environment.declare(.init(name, type, scope: scope))
        needs[name] = []
    }

    /// - Throws: all problems of the text, also wrong fields that the checker cannot refuse.
    func compile(_ text: String, expecting type: CELType? = nil) throws(Issues) -> Expression {
        let expression = try environment.compile(text, expecting: type)
        let issues = FieldReview(names: self, expression: expression).issues
        if issues.isEmpty { return expression }
        throw Issues(issues)
    }

    func needs(of expression: Expression) -> RuleExpression.Needs {
        var result: RuleExpression.Needs = expression.references.functions.contains("age") ? .now : []
        for name in expression.references.variables {
            result.formUnion(needs[name] ?? (SnapshotFunction.source(ofVariable: name) == nil ? [] : .snapshots))
        }
        return result
    }

    func snapshots(of expression: Expression) -> [Scope.ID] {
        expression.references.variables.compactMap { SnapshotFunction.source(ofVariable: $0).flatMap(snapshots.snapshot) }
    }
}

/// The names that rules of the same sources share; made once for all of them.
struct SharedNames: Sendable {
    let environment: Environment
    let types: TaskTypes
    let sources: [RuleContext.SourceFacts]
    let queryHint: RuleContext.QueryHint
    let snapshots: SnapshotFunction

    /// - Parameters:
    ///   - hasEvent: false if only the sources' tasks can be read.
    ///   - hasAllFields: whether fields that only some of the sources declare may be used.
    init(
        _ sources: [RuleContext.SourceFacts], isOpen: Bool, queryHint: @escaping RuleContext.QueryHint,
        on base: Environment, snapshots: SnapshotFunction, hasEvent: Bool = true, hasAllFields: Bool = false
    ) {
        (self.sources, self.snapshots, self.queryHint) = (sources, snapshots, queryHint)
        types = TaskTypes(sources, isOpen: isOpen, hasAllFields: hasAllFields)
        var environment = base
        environment.declare(.init("tasks", .list(.object(types.task)), scope: Self.scope(of: sources)))
        environment.declare(.init("user", .string, scope: Self.scope(of: sources)))
        for function in RuleFunctions.all(types) where hasEvent || !RuleFunctions.ofEvents.contains(function.name) {
            environment.declare(function)
        }
        self.environment = environment
    }

    /// Distinguishes the tasks of these sources from those of others.
    static func scope(of sources: [RuleContext.SourceFacts]) -> String { sources.map(\.name).joined(separator: ",") }

    /// The names available to every rule.
    static func base(
        _ context: RuleContext, snapshots: SnapshotFunction, hasEvent: Bool = true
    ) -> Environment {
        let zone = context.zone
        var limits = Limits()
        limits.memory = 64 << 20
        let host = Host(
            zone: { name in
                zone(name).map { table in
                    Zone(
                        offset: { Int64(table.offset(at: Timestamp(seconds: $0))) },
                        abbreviation: { table.abbreviation(at: Timestamp(seconds: $0)) })
                }
            }, closest: { Suggestion.closest(to: $0, among: $1) })
        var environment = Environment(limits: limits, host: host)
        environment.declare("now", .timestamp)
        for function in CalendarFunctions.all(context.calendars) { environment.declare(function) }
        environment.declare(snapshots.selector)
        guard hasEvent else { return environment }
        environment.declare("event", .object(EventObject.type))
        environment.declare("source", .string)
        return environment
    }
}

/// Names that rules of the same sources share, made on first use.
///
/// A class with a lock, because files are read at the same time and their rules must agree on the types of tasks.
final class SharedNameCache: Sendable {
    private struct Entries {
        var names: [String: SharedNames] = [:]
        var groups: [String: TaskGroup] = [:]
    }

    let base: Environment
    private let context: RuleContext
    private let hasEvent: Bool
    private let entries = Mutex(Entries())
    let snapshots: SnapshotFunction

    /// The tasks of each scope of `tasks`, and of each source that `snapshot()` names.
    var groups: [String: TaskGroup] { entries.withLock(\.groups).merging(snapshots.groups) { own, _ in own } }

    /// - Parameter hasEvent: false if expressions have no event.
    init(_ context: RuleContext, hasEvent: Bool = true) {
        (self.context, self.hasEvent) = (context, hasEvent)
        snapshots = SnapshotFunction(context)
        base = SharedNames.base(context, snapshots: snapshots, hasEvent: hasEvent)
    }

    /// - Parameter hasAllFields: whether fields that only some of the sources declare may be used.
    func names(for sources: [RuleContext.SourceFacts], hasAllFields: Bool = false) -> SharedNames {
        let scope = SharedNames.scope(of: sources)
        let key = hasAllFields ? "all fields of \(scope)" : scope
        return entries.withLock { entries in
            if let names = entries.names[key] { return names }
            let names = SharedNames(
                sources, isOpen: context.isOpen, queryHint: context.queryHint, on: base,
                snapshots: snapshots, hasEvent: hasEvent, hasAllFields: hasAllFields)
            entries.names[key] = names
            // The type with only the common fields is preferred, whichever names are asked for first.
            if !hasAllFields || entries.groups[scope] == nil {
                entries.groups[scope] = TaskGroup(
                    sources: sources.map { ($0.name, $0.scope) }, user: sources.first?.user ?? "", type: names.types.task)
            }
            return names
        }
    }
}
