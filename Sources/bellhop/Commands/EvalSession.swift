import BellhopAgent
import BellhopCore
import BellhopRules

/// The event or task of `bellhop eval`, and access to all others.
struct EvalSession: Sendable {
    private let config: ConfigOptions
    private let surroundings: RuleSurroundings
    private var bench: ExpressionBench
    /// The current event or task, in a sentence.
    private(set) var about = "There is no event and no task here."

    /// How to choose an event or a task, for an expression that needs one.
    var hint = "name it with --event ID or --task NUMBER"

    init(config: ConfigOptions, surroundings: RuleSurroundings) {
        self.config = config
        self.surroundings = surroundings
        bench = ExpressionBench(surroundings)
    }

    /// - Throws: with the expression's diagnostics, or when the tasks that it reads are not available.
    func evaluate(_ text: String) async throws(CommandError) -> Evaluation {
        let expression: BenchExpression
        do throws(Diagnostics) { expression = try bench.compile(text) } catch { throw CommandError(hinted(error)) }
        return expression.evaluate(at: SystemClock().now, tasks: expression.needsTasks ? try await tasks() : [:])
    }

    mutating func look(atEvent id: String) async throws(CommandError) {
        let found = try await config.rows(.events(EventQuery(id: id, limit: 2)))
        let exact = found.first { $0["id"]?.asString == id }
        guard let json = exact ?? found.first else {
            throw CommandError(.problem, "There is no event \(id.visible): `bellhop events` lists them.")
        }
        guard exact != nil || found.count == 1 else {
            throw CommandError(.problem, "Several events begin with \(id.visible). Give more of the id.")
        }
        guard let event = Event(cloudEvent: json) else {
            throw CommandError(.problem, "The event \(id.visible) cannot be read; was it written by another version?")
        }
        bench = ExpressionBench(surroundings, subject: .event(event))
        about = "Looking at the \(event.type.name) \(event.id.text.prefix(12)) of \(event.source).".visible
    }

    mutating func look(atTask name: String) async throws(CommandError) {
        let found = try await seen(name)
        guard let (scope, task) = found.first else {
            throw CommandError(.problem, "No source shows a task \(name.visible) now.")
        }
        let source = surroundings.sources.first { $0.scope == scope }?.name ?? task.source
        bench = ExpressionBench(surroundings, subject: .task(task.snapshot, source: source))
        about = "Looking at \(task.snapshot.number) of \(source), \(task.snapshot.title).".visible
    }

    func completion(before text: String) -> (stem: String, common: String, names: [String]) {
        if text.hasPrefix(":") {
            let found = ExpressionCompletion(
                stem: text, names: [":event ", ":help", ":quit", ":task "].filter { $0.hasPrefix(text) && $0 != text })
            return (found.stem, found.common, found.names)
        }
        let found = bench.completion(before: text)
        return (found.stem, found.common, found.names)
    }

    private func hinted(_ diagnostics: Diagnostics) -> Diagnostics {
        Diagnostics(
            diagnostics.all.map { diagnostic in
                guard diagnostic.help == nil, ["no-event", "no-task"].contains(diagnostic.code) else { return diagnostic }
                var diagnostic = diagnostic
                diagnostic.help = hint
                return diagnostic
            })
    }

    /// The tasks of all sources that were polled; none without a configuration.
    private func tasks() async throws(CommandError) -> [Scope.ID: [Snapshot]] {
        guard !surroundings.isOpen else { return [:] }
        var tasks: [Scope.ID: [Snapshot]] = [:]
        for source in try await config.answer(.status)["sources"]?.asArray ?? [] where source["baseline"] == .bool(true) {
            if let scope = source["scope"]?.asString { tasks[Scope.ID(text: scope)] = [] }
        }
        for (scope, task) in try await seen(nil) { tasks[scope, default: []].append(task.snapshot) }
        return tasks
    }

    private func seen(_ name: String?) async throws(CommandError) -> [(
        scope: Scope.ID, task: (snapshot: Snapshot, source: String)
    )] {
        let answer = try await config.rows(.tasks(name))
        return answer.compactMap { json in
            guard let scope = json["scope"]?.asString, let task = json["task"], let snapshot = Snapshot(json: task) else {
                return nil
            }
            return (Scope.ID(text: scope), (snapshot, task["source"]?.asString ?? ""))
        }
    }
}
