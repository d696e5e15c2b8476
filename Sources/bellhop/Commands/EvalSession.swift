import BellhopAgent
import BellhopCore
import BellhopRules

/// A session of `bellhop eval`: evaluates expressions for a chosen event or task.
struct EvalSession: Sendable {
    private let subjects: StoredSubjects
    private let context: RuleContext
    private var bench: ExpressionBench
    /// The current event or task, in a sentence.
    private(set) var about = "No event and no task is chosen."

    /// How to choose an event or a task, for an expression that needs one.
    var hint = "name it with --event ID or --task NUMBER"

    init(config: ConfigOptions, context: RuleContext) {
        subjects = StoredSubjects(config: config, context: context)
        self.context = context
        bench = ExpressionBench(context)
    }

    /// - Throws: with the expression's diagnostics, or when the tasks that it reads are not available.
    func evaluate(_ text: String) async throws(CommandError) -> Evaluation {
        let expression: BenchExpression
        do throws(Diagnostics) { expression = try bench.compile(text) } catch { throw CommandError(hinted(error)) }
        return expression.evaluate(at: SystemClock().now, tasks: expression.needsTasks ? try await subjects.tasks() : [:])
    }

    mutating func look(atEvent id: String) async throws(CommandError) {
        let event = try await subjects.event(id).event
        bench = ExpressionBench(context, subject: .event(event))
        about = "Looking at the \(event.type.name) \(event.id.text.prefix(12)) of \(event.source).".visible
    }

    mutating func look(atTask name: String) async throws(CommandError) {
        let task = try await subjects.task(name)
        bench = ExpressionBench(context, subject: .task(task.snapshot, source: task.source))
        about = task.sentence
    }

    func completion(before text: String) -> ExpressionCompletion {
        guard text.hasPrefix(":") else { return bench.completion(before: text) }
        return ExpressionCompletion(
            stem: text, names: [":event ", ":help", ":quit", ":task "].filter { $0.hasPrefix(text) && $0 != text })
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
}
