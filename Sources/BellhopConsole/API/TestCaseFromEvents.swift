import BellhopAgent
import BellhopCore
import BellhopRules

/// A test case made from stored events: it expects what the rules did for them.
struct TestCaseFromEvents: Sendable {
    let test: ExplainedTest

    /// The most events of other tasks to include, for rules that count or group over tasks.
    private static let mostNeighbours = 500

    /// - Throws: 404 if no event is stored, 422 if a test cannot express it.
    init(_ call: Call, task: String?, event id: String?) async throws(Problem) {
        let asked = try await Self.facts(call, HistoryQuery(task: task, event: id, limit: id == nil ? 50 : 1))
        guard let last = asked.events.last else {
            throw Problem(404, "No event is stored about \(task.map { "a task `\($0)`" } ?? "an event `\(id ?? "")`").")
        }
        var known = [asked]
        if id != nil { known.append(try await Self.facts(call, HistoryQuery(task: last.event.subject, limit: 50))) }
        let place = known.flatMap(\.events).map(\.sequence).max() ?? last.sequence
        known.append(try await Self.facts(call, HistoryQuery(through: place, limit: Self.mostNeighbours)))
        known[0].takeSilences(try await call.ask(.silences(ended: true)).end)
        let turn = try call.jobs.checkLimit.enter()
        defer { turn.leave() }
        let (facts, files) = (known, ExplanationSearch.files(call.view))
        test = try call.checked { book throws(Diagnostics) in
            try book.explainable(files).explainedTest(of: id == nil ? nil : last, in: facts, files: files)
        }
    }

    private static func facts(_ call: Call, _ query: HistoryQuery) async throws(Problem) -> ExplanationFacts {
        let answer = try await call.ask(.history(query))
        return ExplanationFacts(rows: answer.rows, end: answer.end)
    }
}
