import BellhopCore
import BellhopTesting
import Simulator
import Testing

/// The real program with a quiet time, killed around the release of the held messages.
@Suite(.timeLimit(.minutes(5)), .closing) struct QuietTests {
    private static let rules = """
        rule: tell
        on: task_created
        quiet: {hours: "00:00-23:00", except: task.title == "now"}
        do: [{notify: {to: ops, title: "${{ task.title }}"}}]
        """

    @Test(arguments: ["before-t2", "after-t2", "before-release", "after-release", "before-t3", "after-perform"])
    func `held messages are sent once, as one message, however often the agent is killed`(_ checkpoint: String) async throws {
        let stage = try await Stage.set(rules: Self.rules)
        // Within the quiet time.
        stage.time.pass(toHour: 1)
        for number in 1...5 { stage.instance.addTask(title: "task \(number)", assignedTo: Stage.user) }
        func killed(_ times: Int) async throws {
            for _ in 1...times {
                try await stage.bellhop("run", "--once", environment: ["BELLHOP_CRASH": "\(checkpoint):1"])
            }
        }
        try await killed(2)
        try await stage.bellhop("run", "--once")
        #expect(try await stage.deliveries("quiet").count == 5)
        #expect(stage.simulation.requests.count("POST", path: "/hooks") == 0)
        stage.time.pass(.seconds(22 * 3600))
        // A second run might end before it reaches the checkpoint.
        try await killed(checkpoint == "after-perform" ? 1 : 3)
        try await stage.bellhop("run", "--once")
        stage.time.pass(.seconds(600))
        for _ in 1...2 { try await stage.bellhop("run", "--once") }
        #expect(try await stage.deliveries("quiet").isEmpty)
        // An attempt whose outcome was lost is repeated, because a chat cannot be asked whether it has the message.
        #expect(stage.simulation.requests.count("POST", path: "/hooks") == (checkpoint == "after-perform" ? 2 : 1))
        #expect(try await stage.deliveries("joined").filter { $0["joined"]?["state"] == "done" }.count == 5)
        #expect(try await stage.deliveries("done").compactMap { $0["name"]?.asString } == ["kept back messages"])
    }
}
