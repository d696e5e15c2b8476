import BellhopTesting
import Foundation
import Simulator
import Testing

/// Confirmed transactions are on disk before any step relies on them. Observed from outside, by system calls.
@Suite(.enabled(if: Trace.isPossible, "strace is not installed, or may not trace here"), .timeLimit(.minutes(5)), .closing)
struct DurabilityTests {
    private static let rules = """
        rule: tell
        on: task_created
        do: [{webhook: {to: hook, json: {title: "${{ task.title }}"}}}]

        """

    /// Runs one pass on a new store with one new task, up to a checkpoint.
    private func trace(to checkpoint: String, rules: String = rules) async throws -> Trace {
        let traces = try TemporaryFolder()  // Outside the stage's folder, because network traffic holds secrets.
        let file = traces.path + "/trace"
        let stage = try await Stage.set(rules: rules)
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let program = try stage.start(
            ["run", "--once"], environment: ["BELLHOP_CRASH": checkpoint], under: Trace.wrapper(into: file))
        _ = await program.end()
        return Trace(try String(contentsOfFile: file, encoding: .utf8))
    }

    /// The number of commits to the store since the source's list was read.
    private func commits(_ trace: Trace) -> Int {
        trace.after { $0 == .sent("GET /api/x_snc_my_work/v1/tracker/task") }.count { $0 == .synced }
    }

    @Test(arguments: [
        ("before-t1", "after-t1", 0), ("before-t2", "after-t2", 1), ("before-t3", "after-t3", 2),
        ("after-perform", "after-t4", 3),
    ])
    func `each transaction is on disk after one sync`(_ from: String, _ to: String, _ before: Int) async throws {
        let start = try await trace(to: from)
        let end = try await trace(to: to)
        #expect(start.steps.last == .killed)
        #expect(end.steps.last == .killed)
        #expect(commits(start) == before)
        #expect(commits(end) == before + 1)
        #expect(end.steps.dropLast().last { $0 == .written || $0 == .synced } == .synced, "a write is not on disk yet")
    }

    @Test func `a webhook is sent after its event, its delivery and its claim are on disk`() async throws {
        let trace = try await trace(to: "after-perform")
        let index = try #require(trace.steps.firstIndex(of: .sent("POST /webhook/hook")))
        let before = Trace(steps: Array(trace.steps[..<index]))
        #expect(commits(before) == 3)
        #expect(before.steps.last { $0 == .written || $0 == .synced } == .synced)
    }

    @Test func `a comment is sent after its event, its delivery and its claim are on disk`() async throws {
        let rules = "rule: acknowledge\non: task_created\nonce: task.id\ndo: [{comment: Seen}]\n"
        let trace = try await trace(to: "after-perform", rules: rules)
        let index = try #require(
            trace.steps.firstIndex { if case .sent(let request) = $0 { request.hasPrefix("POST /api/") } else { false } })
        let before = Trace(steps: Array(trace.steps[..<index]))
        // The three transactions, and those for the login that the comment needs.
        #expect(commits(before) >= 3)
        #expect(before.steps.last { $0 == .written || $0 == .synced } == .synced)
    }
}

extension Trace { fileprivate init(steps: [Step]) { self.steps = steps } }
