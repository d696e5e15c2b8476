import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Testing

@Suite(.timeLimit(.minutes(5)), .closing) struct `Explaining through a console` {
    private static let rules = """
        rules:
          - rule: greet
            on: task_created
            do: [{comment: "Thanks, ${{ task.number }}."}]
          - rule: pass-on
            on: task_created
            do: [{emit: {type: outage, subject: "${{ task.number }}", data: {service: "${{ task.title }}"}}}]
          - rule: page
            on: task_created
            from: my-work
            when: task.title.contains("fire") || task.priority == 17
            do: [{log: x}]
          - rule: react
            on: outage
            do: [{log: "${{ event.data.service }}"}]
        """

    @Test func `bellhop explain prints the same through the console as beside the agent`() async throws {
        let port = try FreePort.find()
        let secret = Secrets.clientSecret + "-of-ada"
        let stage = try await Stage.set(
            rules: Self.rules,
            configuration: { address in
                Stage.configuration(address) + """
                    events: {outage: {description: an outage, fields: {service: text}}}
                    console: {listen: "127.0.0.1:\(port)", users: [{name: ada, token: "${{ env.CLIENT_SECRET }}-of-ada", role: viewer}]}

                    """
            })
        let task = stage.instance.addTask("incident", title: "Mail is down", assignedTo: Stage.user)
        let agent = try stage.start(["run"])
        try await eventually("the comment was made") { stage.notes(on: task.id).count == 1 }
        try await eventually("the outage is there") { try await stage.events().contains { $0["type"] == "outage" } }
        let number = task.number
        let id = try #require(try await stage.events().first { $0["type"] == "task_created" }?["id"]?.asString)
        for command in [
            [number], [number, "--json"], [number, "--limit", "1"], [number, "--tree"], [number, "--rule", "page"],
            [id, "--rule", "react"], [String(id.prefix(10)), "--rule", "greet", "--json"], [id], [id, "--tree"],
            [number, "--rule", "gret"], ["NOTHING"], ["NOTHING", "--rule", "page"], ["NOTHING", "--json"],
        ] {
            // A delivery or an event may come between the two.
            try await eventually("\(command) prints the same here and there") {
                let here = try await stage.start(["explain"] + command).end()
                let there = try await stage.start(
                    ["explain"] + command + ["--console", "http://127.0.0.1:\(port)"], environment: ["BELLHOP_TOKEN": secret]
                ).end()
                return here.output == there.output && here.errors == there.errors && here.code == there.code
            }
        }
        func remote(_ arguments: String...) async throws -> Program.Ended {
            try await stage.start(
                ["explain"] + arguments + ["--console", "http://127.0.0.1:\(port)"], environment: ["BELLHOP_TOKEN": secret]
            ).end()
        }
        let text = try await remote(number).output
        for part in ["✓ greet: ran", "task.priority == 17", "caused ", "outage", "(1 step after a rule's action)"] {
            #expect(text.contains(part), "\(part): \(text)")
        }
        #expect(try await remote(number, "--as-test").errors.contains("does not work with --console"))
        #expect(try await remote(number, "--limit", "1001").code == 64)
        await agent.stop()
    }
}
