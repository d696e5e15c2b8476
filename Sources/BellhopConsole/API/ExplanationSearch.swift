import BellhopAgent
import BellhopCore
import BellhopRules

/// The explanation of what rules did for a task or an event, with the filters of a request.
struct ExplanationSearch: Sendable {
    let explanation: Explanation
    /// Whether the rules in force could be loaded.
    private let hasRules: Bool

    /// - Throws: 404 if no event is stored.
    init(_ call: Call) async throws(Problem) {
        guard (call.text("task") == nil) != (call.text("event") == nil) else {
            throw Problem(400, "Give either `task` or `event`.")
        }
        try await self.init(
            call, task: call.text("task"), event: call.text("event"), rule: call.text("rule"),
            limit: Int(call.number("limit") ?? 20))
    }

    init(_ call: Call, task: String?, event: String?, rule: String? = nil, limit: Int = 20) async throws(Problem) {
        let answer = try await call.ask(.history(HistoryQuery(task: task, event: event, limit: event == nil ? limit : 1)))
        let facts = ExplanationFacts(rows: answer.rows, end: answer.end)
        if facts.events.isEmpty {
            throw Problem(404, "No event is stored about \(task.map { "a task `\($0)`" } ?? "an event `\(event ?? "")`").")
        }
        let book = Self.book(call.view)
        let tasks: [Scope.ID: [Snapshot]]
        do throws(StoreError) {
            tasks = try await call.view.inquirer.tasks(in: book?.scopesRead(toJudge: facts.events, by: rule) ?? [])
        } catch {
            throw Problem(InquiryError(error))
        }
        explanation = Explanation(facts, by: book, rule: rule, tasks: tasks, at: call.view.clock.now)
        hasRules = book != nil
    }

    /// - Parameter isWhole: whether to include rules that are not for this type of event.
    func json(isWhole: Bool) -> JSON { explanation.json(isWhole: isWhole, hasRules: hasRules) }

    /// The rules in force, loaded so that they explain their conditions; nil if their files no longer load.
    private static func book(_ view: AgentView) -> RuleBook? { try? view.book()?.explainable(files(view)) }

    /// The files of the rules in force, as they are now.
    static func files(_ view: AgentView) -> [RuleFile] {
        (view.book()?.rules ?? []).map(\.file).unique().compactMap { path in
            view.file(path).map { RuleFile(path: path, bytes: $0) }
        }
    }
}
