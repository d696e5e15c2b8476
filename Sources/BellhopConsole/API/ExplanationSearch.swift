import BellhopAgent
import BellhopCore
import BellhopRules

/// The explanation of what rules did for a task or an event, with the filters of a request.
struct ExplanationSearch: Sendable {
    let explanation: Explanation
    /// Whether the rules in force could be loaded.
    private let hasRules: Bool

    init(_ call: Call) async throws(Problem) {
        try await self.init(
            call, task: call.text("task"), event: call.text("event"), rule: call.text("rule"),
            limit: Int(call.number("limit") ?? 20))
    }

    init(_ call: Call, task: String?, event: String?, rule: String? = nil, limit: Int = 20) async throws(Problem) {
        let facts = try await call.history(task: task, event: event, limit: limit)
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

extension Call {
    /// What is stored about a task's newest events, or about an event by its id or the start of one.
    ///
    /// - Throws: 400 unless exactly one of both is named, 404 if no event is stored, 409 if several events have such an id.
    func history(task: String?, event: String?, limit: Int) async throws(Problem) -> ExplanationFacts {
        guard (task == nil) != (event == nil), let name = task ?? event, !name.isEmpty else {
            throw Problem(400, "Give either `task` or `event`.")
        }
        let facts = try await history(HistoryQuery(task: task, event: event, limit: event == nil ? limit : 1))
        if facts.events.isEmpty {
            throw event == nil ? Problem(404, "No event is stored about a task `\(name)`.") : Problem(unstored: "event", name)
        }
        if event != nil, facts.isCut { throw Problem(ambiguous: name) }
        return facts
    }

    func history(_ query: HistoryQuery) async throws(Problem) -> ExplanationFacts {
        let answer = try await ask(.history(query))
        return ExplanationFacts(rows: answer.rows, end: answer.end)
    }
}

extension Problem {
    /// That nothing has an id, or begins with it.
    init(unstored what: String, _ id: String) { self.init(404, "There is no \(what) `\(id)`, or it is no longer stored.") }

    init(ambiguous id: String) { self.init(409, "Several have an id that begins with `\(id)`. Give more of it.") }
}
