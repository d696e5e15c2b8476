public import BellhopCore
import CEL
import YAML

/// Tries expressions: compiles them like those of a rule about one event or task, and shows the value of each part.
public struct ExpressionBench: Sendable {
    /// The subject of the expressions.
    public enum Subject: Sendable, Hashable {
        /// Only the tasks of the sources: `tasks`, `now` and `user`.
        case nothing
        case event(Event)
        /// A task as it is now, as in an event without changes.
        case task(Snapshot, source: String)
    }

    /// The file that diagnostics name.
    public static let file = "<expression>"

    private let context: RuleContext
    private let subject: Subject
    private let names: RuleNames
    private let groups: [String: TaskGroup]

    public init(_ context: RuleContext, subject: Subject = .nothing) {
        self.context = context
        self.subject = subject
        let cache = SharedNameCache(context, hasEvent: subject != .nothing)
        let shared = cache.names(for: Self.sources(of: subject, in: context))
        let events =
            subject.type.map { [context.events[$0] ?? EventDefinition($0, "", from: .outside, [], isOpen: true)] } ?? []
        names = RuleNames(shared, events: events, zone: context.timeZoneName)
        groups = cache.groups
    }

    /// The subject's source, or all sources if it has none.
    private static func sources(
        of subject: Subject, in context: RuleContext
    ) -> [RuleContext.SourceFacts] {
        let name = subject.source
        if context.isOpen { return [context.assumedSource(name ?? "")] }
        let its = context.taskSources.filter { $0.name == name }
        return its.isEmpty ? context.taskSources : its
    }

    /// Compiles an expression; reports all its problems at once, in the file `<expression>`.
    public func compile(_ text: String) throws(Diagnostics) -> BenchExpression {
        let source = SourceText(text)
        if let template = try? TemplateText(text), template.whole != nil {
            let place = Diagnostic.Place(source.range(0..<text.utf8.count), in: source, file: Self.file)
            throw Diagnostics(
                code: "template-in-expression", "this is an expression already", at: place,
                help: "write it without `${{` and `}}`")
        }
        let issues: [Issue]
        do throws(Issues) {
            let expression = try names.environment.compile(text)
            issues = FieldReview(names: names).issues(in: expression)
            if issues.isEmpty {
                let slots = names.environment.slots
                return BenchExpression(
                    expression: expression, needs: names.needs(of: expression), source: source, event: event,
                    facts: RunFacts(context, slots: slots, groups: groups), slots: slots, zone: context.timeZone)
            }
        } catch {
            issues = error.all
        }
        let wording = IssueWording(names: names)
        throw Diagnostics(
            issues.map { issue in
                let place = Diagnostic.Place(source.range(issue.range), in: source, file: Self.file)
                return wording.diagnostic(issue, in: text, at: place, "the expression")
            })
    }

    /// Completions for the text up to the cursor.
    public func completion(before text: String) -> ExpressionCompletion {
        var data = JSON.Object()
        if case .event(let event) = subject { data = event.data }
        return ExpressionNames(names: names, data: data).completion(before: text)
    }

    private var event: Event {
        switch subject {
        case .event(let event): event
        case .task(let task, let source):
            Event(
                id: Event.ID(""), type: .taskChanged, source: source, subject: "", time: Timestamp(seconds: 0),
                data: EventContent.taskCreated(task, in: source).data)
        case .nothing:
            Event(id: Event.ID(""), type: EventType(""), source: "", subject: "", time: Timestamp(seconds: 0), data: [:])
        }
    }
}

extension ExpressionBench.Subject {
    /// The source of the event or task.
    fileprivate var source: String? {
        switch self {
        case .nothing: nil
        case .event(let event): event.source
        case .task(_, let source): source
        }
    }

    fileprivate var type: EventType? {
        switch self {
        case .nothing: nil
        case .event(let event): event.type
        case .task: .taskChanged
        }
    }
}

/// Completions at the cursor.
public struct ExpressionCompletion: Sendable, Hashable {
    /// The part of a name typed so far.
    public var stem: String
    /// Whole names that begin with it, sorted; a function with its parenthesis.
    public var names: [String]

    public init(stem: String = "", names: [String] = []) { (self.stem, self.names) = (stem, names) }

    /// The common prefix of all names, the stem included.
    public var common: String {
        guard var common = names.first else { return stem }
        for name in names.dropFirst() {
            common = String(zip(common, name).prefix { $0 == $1 }.map(\.0))
        }
        return common
    }
}
