import BellhopCore
import YAML

/// Which events can reach a rule, given the configured sources and connections. Decided without any request, and only where
/// certain.
struct EventReach {
    /// Why events of a type never come, and what to write instead.
    struct Obstacle: Hashable {
        var code: String
        var reason: String
        var help: String?
        /// The type that was probably meant, if its events do come.
        var instead: EventType?
    }

    /// Where a rule names a type of event.
    struct Place {
        var type: EventType
        var node: Node
        /// False if it is written with conditions on its fields, which no other type supports.
        var isAlone = true
    }

    private let context: RuleContext
    private let from: [String]

    /// - Parameter from: the names under `from`; empty for all.
    init(_ context: RuleContext, from: [String]) { (self.context, self.from) = (context, from) }

    /// A warning for each obstacle, at the first type it affects.
    func warnings(_ places: [Place], file: String) -> [Diagnostic] {
        var seen: Set<String> = []
        return places.compactMap { named in
            guard let obstacle = obstacle(to: named.type, among: places.map(\.type)), seen.insert(obstacle.code).inserted else {
                return nil
            }
            let place = Diagnostic.Place(named.node, file: file)
            let line = named.isAlone ? obstacle.instead.flatMap { place.line(with: $0.name) } : nil
            return Diagnostic(
                .warning, code: obstacle.code, "`\(named.type.name)` never occurs here: \(obstacle.reason)", at: place,
                help: obstacle.help, corrected: line.map { [$0] } ?? [])
        }
    }

    /// Why this type never occurs; nil if it may.
    ///
    /// - Parameter types: all types the rule waits for: a rule with both kinds of login accepts whichever exists.
    func obstacle(to type: EventType, among types: [EventType]) -> Obstacle? {
        guard !context.isOpen, let event = context.events[type] else { return nil }
        switch event.origin {
        case .connection: return connections.isEmpty && from.isEmpty ? nil : obstacle(toLogin: type, among: types)
        case .tasks, .page: break
        case .outside: return from.isEmpty || sources.contains { $0.shows == .events } ? nil : noSender
        case .source, .rule, .delivery: return nil
        }
        guard !context.sources.isEmpty else { return nil }
        guard let first = sources.first else {
            return Obstacle(
                code: "no-source", reason: "`from` names no source",
                help: "add \(context.sources.map(\.name).quotedList) to it")
        }
        if event.origin == .page { return sources.contains { $0.shows == .page } ? nil : noPage(first) }
        let tasks = sources.filter { $0.shows == .tasks }
        guard !tasks.isEmpty else {
            guard sources.contains(where: { $0.shows == .page }) else {
                return Obstacle(
                    code: "no-tasks", reason: "\(Self.sources(sources)) \(sources.count == 1 ? "has" : "have") no tasks",
                    help: "write an event that bellhop.yaml declares under `events`")
            }
            return Obstacle(
                code: "no-tasks", reason: "\(Self.sources(sources)) \(sources.count == 1 ? "watches a page" : "watch pages")",
                help: "write `\(EventType.pageChanged.name)`", instead: .pageChanged)
        }
        return event[.comment] != nil && !tasks.contains { $0.comments == .yes } ? noComments(tasks) : nil
    }

    // MARK: Sources

    private var sources: [RuleContext.SourceFacts] {
        from.isEmpty ? context.sources : context.sources.filter { from.contains($0.name) }
    }

    private var noSender: Obstacle {
        Obstacle(
            code: "no-sender",
            reason: "no source under `from` sends it, and `from` cannot name the rules that emit it",
            help: "leave `from` out; each entry of `all`, `sequence` or `none` may have its own")
    }

    private func noPage(_ first: RuleContext.SourceFacts) -> Obstacle {
        let pages = context.sources.filter { $0.shows == .page }.map(\.name)
        return Obstacle(
            code: "no-page", reason: sources.count == 1 ? "source `\(first.name)` watches tasks" : "no source watches a page",
            help: pages.isEmpty ? "write `task_changed`, or add a source that watches a page" : "write `from: \(pages[0])`",
            instead: pages.isEmpty ? .taskChanged : nil)
    }

    private func noComments(_ tasks: [RuleContext.SourceFacts]) -> Obstacle {
        let able = tasks.lazy.compactMap { source in source.comments.missingLine.map { (source.name, $0) } }
        let others = context.sources.filter { $0.comments == .yes && $0.shows == .tasks }.map(\.name)
        let help =
            able.first.map { "in bellhop.yaml add `\($1)` to source `\($0)`" } ?? others.first.map { "write `from: \($0)`" }
        return Obstacle(
            code: "no-comments", reason: "\(Self.sources(tasks)) \(tasks.count == 1 ? "reports" : "report") no comments",
            help: help)
    }

    // MARK: Logins

    private var connections: [RuleContext.ConnectionFacts] {
        from.isEmpty ? context.connections : context.connections.filter { from.contains($0.name) }
    }

    private func obstacle(toLogin type: EventType, among types: [EventType]) -> Obstacle? {
        let reporting = connections.filter { $0.logins != nil }
        guard let first = reporting.first else {
            let able = context.connections.filter { $0.logins != nil }.map(\.name)
            let reason =
                connections.isEmpty
                ? "`from` names no connection" : "logins of \(Self.connections(connections)) are not reported as events"
            return Obstacle(
                code: "no-login-events", reason: reason, help: able.isEmpty ? nil : "add \(able.quotedList) to `from`")
        }
        if type == .sessionExpired || reporting.contains(where: { $0.logins.map(types.contains) == true }) { return nil }
        let isKept = first.logins == .keychainLoginEvent
        return Obstacle(
            code: "wrong-login-event",
            reason: "the login of \(Self.connections(reporting)) \(isKept ? "is kept in the keychain" : "is in bellhop.yaml")",
            help: "write `\(first.logins?.name ?? "")`", instead: first.logins)
    }

    // MARK: Words

    private static func sources(_ sources: [RuleContext.SourceFacts]) -> String {
        (sources.count == 1 ? "source " : "sources ") + sources.map(\.name).quotedList
    }

    private static func connections(_ connections: [RuleContext.ConnectionFacts]) -> String {
        (connections.count == 1 ? "connection " : "connections ") + connections.map(\.name).quotedList
    }
}

extension Diagnostic.Place {
    /// The line with this place replaced by another word; nil if the line cannot be shown.
    func line(with word: String) -> String? {
        guard let scalars = excerpt?.unicodeScalars, column - 1 + length <= scalars.count else { return nil }
        var line = String.UnicodeScalarView(scalars.prefix(column - 1))
        line.append(contentsOf: word.unicodeScalars)
        line.append(contentsOf: scalars.dropFirst(column - 1 + length))
        return String(line)
    }
}
