import BellhopCore
import BellhopTesting
import Simulator
import Testing

/// `bellhop replay` with the real program.
@Suite(.timeLimit(.minutes(5)), .closing) struct ReplayTests {
    private static let rules = """
        rule: acknowledge
        on: task_created
        do:
          - comment: "Seen: ${{ task.number }}"
          - webhook: {to: hook, json: {task: "${{ task.id }}"}}

        """

    private static func replays(_ stage: Stage) async throws -> [JSON] {
        try await stage.deliveries().filter { $0["occasion"]?.asString?.hasPrefix("replay/") == true }
    }

    @Test(arguments: ["before-t2", "after-t2", "before-t3", "after-t3", "after-perform", "before-t4", "after-t4"])
    func `a replay that is killed happens once, and repeats no comment`(_ checkpoint: String) async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        #expect(try await stage.bellhop("run", "--once").code == 0)
        #expect(stage.notes(on: task.id).count == 1)
        let event = try await stage.events().first { $0["type"] == "task_created" }?["id"]?.asString ?? ""
        stage.time.pass(.seconds(3600))
        let asked = try await stage.bellhop("replay", event, "--yes")
        #expect(asked.code == 0, "\(asked.errors)")
        #expect(asked.output.contains("at the agent's next start"))
        for nth in ["1", "2"] {
            try await stage.bellhop("run", "--once", environment: ["BELLHOP_CRASH": "\(checkpoint):\(nth)"])
            stage.time.pass(.seconds(600))
        }
        for _ in 1...3 {
            #expect(try await stage.bellhop("run", "--once").code == 0)
            stage.time.pass(.seconds(600))
        }
        let replays = try await Self.replays(stage)
        #expect(replays.map { $0["action"]?.asString } == ["comment", "webhook"])
        #expect(replays.allSatisfy { $0["state"] == "done" }, "\(replays)")
        #expect(stage.notes(on: task.id).count == 1)
        #expect(stage.simulation.receivers.received(by: "hook").count >= 2)
        #expect(try await stage.bellhop("audit", "verify").code == 0)
        let rows = try await stage.bellhop("audit", "export").output
        #expect(rows.split(separator: "\n").count { $0.contains(#""act":"replay""#) } == 1)
    }

    @Test func `a running agent routes a replay at once, and does not repeat the comment`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let agent = try stage.start(["run"])
        try await eventually("the comment is written") { stage.notes(on: task.id).count == 1 }
        let event = try await stage.events().first { $0["type"] == "task_created" }?["id"]?.asString ?? ""
        let asked = try await stage.bellhop("replay", event, "--yes")
        #expect(asked.output.contains("routed again now"), "\(asked.errors)")
        try await eventually("the webhook is sent again") { stage.simulation.receivers.received(by: "hook").count == 2 }
        var replays: [JSON] = []
        while replays.count < 2 || replays.contains(where: { $0["state"] != "done" }) {
            replays = try await Self.replays(stage)
        }
        #expect(replays[0]["receipt"]?.asString?.contains("already written since the replayed event") == true, "\(replays)")
        #expect(stage.notes(on: task.id).count == 1)
        #expect(await agent.stop().code == 0)
    }
}
