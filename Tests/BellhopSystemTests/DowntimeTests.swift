import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Testing

/// Changes during downtime.
@Suite(.timeLimit(.minutes(5)), .closing) struct DowntimeTests {
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
        stage.simulation.receivers.received(by: "ops").count { $0.isAccepted && $0.text.contains("open tasks") }
    }

    @Test func `after three days' downtime there is one digest, and an event for every change`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        stage.time.pass(toHour: 12)
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
        #expect(digests(stage) == 1, "the digest is not repeated")
    }

    private static let acknowledging = """
        rule: acknowledge
        on: task_created
        do: [{comment: "Seen: ${{ task.number }}"}]

        """

    @Test func `an agent on a restored copy of its store repeats no comment`() async throws {
        let stage = try await Stage.set(rules: Self.acknowledging)
        let first = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        #expect(try await stage.bellhop("run", "--once").code == 0)
        #expect(stage.notes(on: first.id).count == 1)
        let copy = try FileManager.default.contentsOfDirectory(atPath: stage.folder.path).filter {
            $0.hasPrefix("bellhop.db")
        }
        #expect(copy.contains("bellhop.db") && !copy.contains("bellhop.db-wal"), "the copy is a single file: \(copy)")
        let (store, kept) = (stage.folder.path + "/bellhop.db", stage.folder.path + "/copy.db")
        try FileManager.default.copyItem(atPath: store, toPath: kept)

        stage.time.pass(.seconds(600))
        let later = (0..<5).map { stage.instance.addTask(title: "Number \($0)", assignedTo: Stage.user) }
        #expect(try await stage.bellhop("run", "--once").code == 0)
        #expect(later.allSatisfy { stage.notes(on: $0.id).count == 1 })
        let events = try await stage.events().count

        for name in try FileManager.default.contentsOfDirectory(atPath: stage.folder.path) where name.hasPrefix("bellhop.db") {
            try FileManager.default.removeItem(atPath: stage.folder.path + "/" + name)
        }
        try FileManager.default.copyItem(atPath: kept, toPath: store)
        #expect(try await stage.events().count < events, "the store is the copy")
        stage.time.pass(.seconds(600))
        let last = stage.instance.addTask(title: "Last", assignedTo: Stage.user)
        let agent = try stage.start(["run"])
        try await eventually("all is done, again and anew") { try await stage.deliveries("done").count == 7 }
        #expect(await agent.stop().code == 0)
        for task in [first, last] + later { #expect(stage.notes(on: task.id).count == 1, "\(task.title)") }
    }
}
