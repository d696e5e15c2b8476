import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Testing

/// `bellhop backtest` through the console of a running agent.
@Suite(.timeLimit(.minutes(5)), .closing) struct `Back-tests through a console` {
    private static let rules = """
        rules:
          - rule: greet
            on: task_created
            do: [{comment: "Thanks, ${{ task.number }}."}]
          - rule: once
            on: task_created
            once: task.assigned_to
            do: [{log: x}]
        """

    private static let draft = """
        rules:
          - rule: greet
            on: task_created
            do: [{comment: "Hello, ${{ task.number }}."}]
          - rule: look
            on: task_created
            when: task.title.contains("Mail")
            do: [{log: "${{ task.title }}"}]
        """

    /// Output without the moment at which the back-test was made, from which it looks back.
    private static func timeless(_ text: String) -> String {
        text.replacing(/events? from .* to .*/, with: "events").replacing(/"since":"[^"]*","until":"[^"]*"/, with: "")
    }

    @Test func `bellhop backtest prints the same through the console as beside the agent`() async throws {
        let port = try FreePort.find()
        let secret = Secrets.clientSecret
        let stage = try await Stage.set(
            rules: Self.rules,
            configuration: { address in
                Stage.configuration(address) + """
                    console:
                      listen: "127.0.0.1:\(port)"
                      users:
                        - {name: ada, token: "${{ env.CLIENT_SECRET }}-of-ada", role: operator}
                        - {name: bob, token: "${{ env.CLIENT_SECRET }}-of-bob", role: viewer}

                    """
            })
        try stage.folder.write("drafts/new.yaml", Self.draft)
        try stage.folder.write("drafts/wrong.yaml", Self.draft.replacing("task.title.contains", with: "task.titel.contains"))
        try stage.folder.write("other/a.yaml", Self.draft)
        let task = stage.instance.addTask("incident", title: "Mail is down", assignedTo: Stage.user)
        _ = stage.instance.addTask("incident", title: "No paper", assignedTo: Stage.user)
        let agent = try stage.start(["run"])
        try await eventually("the comment was made") { stage.notes(on: task.id).count == 1 }
        func remote(_ arguments: [String], as user: String = "ada") async throws -> Program.Ended {
            try await stage.start(
                ["backtest"] + arguments + ["--console", "http://127.0.0.1:\(port)"],
                environment: ["BELLHOP_TOKEN": secret + "-of-" + user]
            ).end()
        }
        for command in [
            [], ["greet"], ["once", "greet", "--since", "1h"], ["greet", "--json"], ["gret"], ["drafts/new.yaml"],
            ["drafts/new.yaml", "--against", "in-force"], ["drafts/new.yaml", "look", "--against", "in-force", "--json"],
            ["./other", "--against", "in-force"], ["other", "--against", "in-force", "--json"], ["drafts/wrong.yaml"],
            ["drafts/nowhere.yaml"],
        ] {
            // An event may come between the two.
            try await eventually("\(command) prints the same here and there") {
                let here = try await stage.start(["backtest"] + command).end()
                let there = try await remote(command)
                return Self.timeless(here.output) == Self.timeless(there.output) && here.errors == there.errors
                    && here.code == there.code
            }
        }
        let text = try await remote(["drafts/new.yaml", "--against", "in-force"]).output
        for part in ["look", "The latest of greet, comment to", "Hello, ", "~ ", "+ ", "Limits of this result"] {
            #expect(text.contains(part), "\(part): \(text)")
        }
        let viewer = try await remote([], as: "bob")
        #expect(viewer.code == 1 && viewer.errors.contains("needs the role `operator`"), "\(viewer.errors)")
        let itself = try await remote(["greet", "--against", "in-force"])
        #expect(itself.code == 64 && itself.errors.contains("compared with themselves"), "\(itself.errors)")
        let files = try await remote(["greet", "--against", "other"])
        #expect(files.code == 64 && files.errors.contains("takes only `in-force`"), "\(files.errors)")
        await agent.stop()
    }
}
