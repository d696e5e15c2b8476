import BellhopCore
import BellhopTesting
import Simulator
import Testing

/// Silences and pauses that a person begins and ends while the agent runs: they act at once, without a restart.
@Suite(.timeLimit(.minutes(5)), .closing) struct RunningPauseTests {
    private static let rules = """
        rules:
          - rule: tell
            on: task_created
            do:
              - notify: {to: ops, title: "${{ task.title }}"}
              - comment: "Seen: ${{ task.title }}"
          - rule: ended
            on: silence_ended
            do: [{log: "kept back ${{ event.data.silence.kept }}, ${{ event.data.silence.reason }}"}]

        """

    private func started() async throws -> (Stage, Program) {
        let stage = try await Stage.set(rules: Self.rules)
        return (stage, try await stage.startAgent())
    }

    /// Runs a command, which must succeed.
    private func run(_ stage: Stage, _ arguments: String...) async throws {
        let ended = await (try stage.start(arguments)).end()
        #expect(ended.code == 0, "\(ended.errors)")
    }

    private func messages(_ stage: Stage) -> Int { stage.simulation.requests.count("POST", path: "/hooks") }

    @Test func `a silence keeps messages back from the moment of the command until it is ended`() async throws {
        let (stage, agent) = try await started()
        let add = try await stage.bellhop("silence", "add", "--for", "4h", "--receiver", "ops", "--reason", "switch update")
        #expect(add.code == 0, "\(add.errors)")
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("the message is kept back") { try await stage.deliveries("silenced").count == 1 }
        try await eventually("the comment is written all the same") { stage.notes(on: task.id).count == 1 }
        #expect(messages(stage) == 0)
        try await run(stage, "silence", "end", String(add.output.prefix { !$0.isNewline }))
        try await eventually("rules see its end") { agent.outputSoFar.contains("kept back 1, switch update") }
        stage.instance.addTask(title: "Two", assignedTo: Stage.user)
        try await eventually("the next message is sent") { messages(stage) == 1 }
        #expect(try await stage.deliveries("silenced").count == 1)
    }

    @Test func `paused writes wait, even across a restart, until they are resumed, while messages are sent`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let first = try stage.start(["run"])
        try await eventually("it polls") { first.errorsSoFar.contains("The source was polled") }
        try await run(stage, "pause", "--writes", "--reason", "instance is upgraded")
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("the message is sent") { messages(stage) == 1 }
        await first.kill()
        let second = try stage.start(["run"])
        stage.instance.addTask(title: "Two", assignedTo: Stage.user)
        try await eventually("the next message is sent, too") { messages(stage) == 2 }
        let status = try await stage.bellhop("status")
        #expect(status.output.contains("Writes to tasks have been paused since"), "\(status.output)")
        #expect(stage.instance.tasks.allSatisfy { stage.notes(on: $0.id).isEmpty })
        try await run(stage, "resume", "--writes")
        try await eventually("the comments are written") {
            stage.instance.tasks.filter { $0.title == "One" || $0.title == "Two" }.allSatisfy {
                stage.notes(on: $0.id).count == 1
            }
        }
        #expect(stage.notes(on: task.id).map(\.text) == ["Seen: One"])
        #expect(await second.stop().code == 0)
    }

    @Test func `a paused rule misses all events until it is resumed`() async throws {
        let (stage, _) = try await started()
        try await run(stage, "pause", "tell")
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("the task is seen") { try await stage.bellhop("events").output.contains("One") }
        try await run(stage, "resume", "tell")
        let two = stage.instance.addTask(title: "Two", assignedTo: Stage.user)
        try await eventually("the rule runs") { stage.notes(on: two.id).count == 1 }
        #expect(messages(stage) == 1)
        #expect(try await stage.deliveries().count == 2)
    }
}
