import BellhopCore
import BellhopTesting
import Simulator
import Testing

/// A rule that answers comments, on an instance that changes the text of journal entries.
@Suite(.timeLimit(.minutes(5)), .closing) struct RewrittenCommentTests {
    private static let answer =
        "Dear <b>Ms Tuter</b>, thank you: call 0049 30 1234567 about ticket 42, floor 7. "
        + String(repeating: "We look at the printer as soon as somebody of us is there. ", count: 80)

    private static let rules = """
        rules:
          - rule: answer
            on: task_commented
            when: "!comment.own"
            do: [{comment: "\(answer)"}]

        """

    private static func configuration(marker: Bool) -> (String) -> String {
        { address in
            """
            version: 1
            connections:
              snow:
                kind: servicenow
                instance: "\(address)"
                auth: {basic: {username: \(Stage.user), password: "${{ env.PASSWORD }}"}}
                marker: \(marker)
            sources:
              incidents: {kind: table, connection: snow, table: incident, query: active=true, every: 1s, journal: [work_notes]}

            """
        }
    }

    static let rewritings: [TextRewriting] = [.tagsStripped, .digitsMasked, .textCut(characters: 4000)]

    @Test(
        arguments: rewritings,
        [(SimulatedUser.Reading.allowed, false), (.forbidden, false), (.allowed, true), (.forbidden, true)])
    func `a rule that answers comments answers each once, and never its own ones, even if they are rewritten`(
        _ rewriting: TextRewriting, _ account: (journal: SimulatedUser.Reading, marker: Bool)
    ) async throws {
        let stage = try await Stage.set(rules: Self.rules, configuration: Self.configuration(marker: account.marker))
        stage.instance.addUser("abel.tuter", password: "x", name: "Abel Tuter")
        stage.instance.changeUser(Stage.user) { $0.journal = account.journal }
        stage.simulation.faults.add(.rewritten(rewriting), times: nil)
        let task = stage.instance.addTask(title: "Printer", assignedTo: Stage.user)
        func pass() async throws {
            let ended = try await stage.bellhop("run", "--once")
            #expect(ended.code == 0, "\(ended.errors)")
            stage.time.pass(.seconds(60))
        }
        try await pass()
        for number in 1...2 {
            stage.instance.addNote("Where is it?", .workNotes, on: task.id, by: "abel.tuter")
            stage.time.pass(.seconds(60))
            for _ in 0..<3 { try await pass() }
            #expect(stage.notes(on: task.id).count == number)
        }
        #expect(stage.notes(on: task.id).allSatisfy { !$0.text.contains(Self.answer) }, "no comment was changed")
        let deliveries = try await stage.deliveries()
        #expect(deliveries.count == 2)
        #expect(deliveries.allSatisfy { $0["state"]?.asString == "done" }, "\(deliveries)")
        let comments = try await stage.events().filter { $0["type"]?.asString == "task_commented" }
        let own = comments.filter { event in event["data"]?["comment"]?["own"] == JSON.bool(true) }
        #expect(comments.count == 4)
        #expect(own.count == 2)
    }
}
