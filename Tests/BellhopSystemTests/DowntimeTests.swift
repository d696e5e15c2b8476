import BellhopCore
import BellhopTesting
import Glibc
import Simulator
import Testing

/// What happens while nobody watches.
@Suite(.timeLimit(.minutes(5))) struct DowntimeTests {
    private static let rules = """
        rules:
          - rule: digest
            on: {schedule: "30 8 * * *", missed: once}
            from: my-work
            do: [{notify: {to: ops, title: "${{ size(tasks) }} open tasks"}}]
          - rule: acknowledge
            on: task_created
            once: task.id
            do: [{comment: Seen}]

        """

    private func digests(_ stage: Stage) -> Int {
        stage.simulation.receivers.received(by: "ops").count { $0.isTaken && $0.text.contains("open tasks") }
    }

    @Test func `after three days' downtime there is one digest, and every change of the meantime`() async throws {
        try await Stage.set(rules: Self.rules) { stage in
            let first = stage.instance.addTask(title: "One", assignedTo: Stage.user)
            let second = stage.instance.addTask(title: "Two", assignedTo: Stage.user)
            try await stage.bellhop("run", "--once")
            #expect(digests(stage) == 0)

            stage.time.pass(.seconds(3 * 86400))
            stage.instance.closeTask(first.id)
            stage.instance.updateTask(second.id, set: ["short_description": "Two again"])
            let third = stage.instance.addTask(title: "Three", assignedTo: Stage.user)
            let ended = try await stage.bellhop("run", "--once")
            #expect(ended.code == 0, "\(ended.errors)")
            #expect(digests(stage) == 1)
            let due = try await stage.events().filter { $0["type"] == "schedule_due" }
            #expect(due.map { $0.at("data", "missed")?.asInt } == [2])
            let types = try await stage.events().compactMap { $0["type"]?.asString }.filter { $0.hasPrefix("task_") }
            #expect(types.sorted() == ["task_changed", "task_created", "task_created", "task_created", "task_removed"])
            #expect(stage.notes(on: third.id).count == 1)

            try await stage.bellhop("run", "--once")
            #expect(digests(stage) == 1, "it is not sent again")
        }
    }

    @Test func `an agent that comes back after three days sends one digest and watches on`() async throws {
        try await Stage.set(rules: Self.rules) { stage in
            stage.instance.addTask(title: "One", assignedTo: Stage.user)
            try await stage.bellhop("run", "--once")
            stage.time.pass(.seconds(3 * 86400))
            let agent = try stage.start(["run"])
            try await eventually("the digest is sent") { digests(stage) == 1 }
            let task = stage.instance.addTask(title: "Two", assignedTo: Stage.user)
            try await eventually("it watches on") { stage.notes(on: task.id).count == 1 }
            agent.send(SIGTERM)
            #expect(await agent.end().code == 0)
            #expect(digests(stage) == 1)
        }
    }

    @Test func `the same answer twice is no news`() async throws {
        try await Stage.set(rules: Self.rules) { stage in
            stage.instance.addTask(title: "One", assignedTo: Stage.user)
            try await stage.bellhop("run", "--once")
            let before = try await stage.events().filter { $0["type"] != "login_event" }
            for _ in 1...3 { try await stage.bellhop("run", "--once") }
            #expect(try await stage.events().filter { $0["type"] != "login_event" } == before)
        }
    }
}
