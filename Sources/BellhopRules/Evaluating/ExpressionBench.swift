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
    /// The event that the expressions read; nil for none.
    private let event: Event?
    private let names: RuleNames
    private let cache: SharedNameCache

    public init(_ context: RuleContext, subject: Subject = .nothing) {
        (self.context, self.subject) = (context, subject)
        event = subject.event
        cache = SharedNameCache(context, hasEvent: event != nil)
        let shared = cache.names(for: Self.sources(of: event, in: context))
        let type = event?.type
        let events = type.map { [context.events[$0] ?? EventDefinition($0, "", from: .outside, [], isOpen: true)] } ?? []
        names = RuleNames(shared, events: events, zone: context.timeZoneName)
    }

    /// The event's source, or all sources if it has none.
    private static func sources(of event: Event?, in context: RuleContext) -> [RuleContext.SourceFacts] {
        if context.isOpen { return [context.assumedSource(event?.source ?? "")] }
        let its = context.taskSources.filter { $0.name == event?.source }
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
        do throws(Issues) {
            let expression = try names.compile(text)
            let slots = names.environment.slots
            return BenchExpression(
                expression: expression, needs: names.needs(of: expression), source: source, event: event ?? .nothing,
                facts: RunFacts(context, slots: slots, groups: cache.groups), slots: slots, zone: context.timeZone)
        } catch {
            let wording = IssueWording(names: names)
            throw Diagnostics(
                error.all.map { issue in
                    let place = Diagnostic.Place(source.range(issue.range), in: source, file: Self.file)
                    return wording.diagnostic(issue, in: text, at: place, "the expression")
                })
        }
    }

    /// Completions for the text up to the cursor.
    public func completion(before text: String) -> ExpressionCompletion {
        var data = JSON.Object()
        if case .event(let event) = subject { data = event.data }
        return ExpressionNames(names: names, data: data).completion(before: text)
    }
}

extension ExpressionBench.Subject {
    fileprivate var event: Event? {
        switch self {
        case .nothing: nil
        case .event(let event): event
        case .task(let task, let source):
            Event(
                id: Event.ID(""), type: .taskChanged, source: source, subject: "", time: Timestamp(seconds: 0),
                data: EventContent.taskCreated(task, in: source).data)
        }
    }
}

extension Event {
    /// Stands for the event that a subject does not have.
    fileprivate static let nothing = Event(
        id: Event.ID(""), type: EventType(""), source: "", subject: "", time: Timestamp(seconds: 0), data: [:])
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
        for name in names.dropFirst() { common = String(zip(common, name).prefix { $0 == $1 }.map(\.0)) }
        return common
    }
}
