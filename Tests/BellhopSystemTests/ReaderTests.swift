import BellhopCore
import BellhopTesting
import Glibc
import Simulator
import Testing

/// Whoever reads what an agent prints may go away.
@Suite(.timeLimit(.minutes(5))) struct ReaderTests {
    @Test func `an agent outlives the reader of its standard output`() async throws {
        let rules = "rule: note\non: task_created\ndo: [{log: \"A ${{ task.title }}\"}]\n"
        try await Stage.set(rules: rules) { stage in
            let pipeline = try stage.start(["run"], under: ["/bin/sh", "-c", "\"$@\" | head -n 1", "sh"])
            try await eventually("it polls") { pipeline.errorsSoFar.contains("The source was polled") }
            stage.instance.addTask(title: "One", assignedTo: Stage.user)
            try await eventually("the first line is read") { pipeline.outputSoFar.contains("A One") }
            stage.instance.addTask(title: "Two", assignedTo: Stage.user)
            try await eventually("the second line cannot be written, and is kept for later") {
                try await stage.deliveries("available").contains {
                    $0["error"]?["message"]?.asString?.contains("Standard output cannot be written") == true
                }
            }
            let status = try JSON.parse(try await stage.bellhop("status", "--json").output)
            let agent = try #require(status["agent"]?["pid"]?.asInt, "the agent is gone: \(pipeline.errorsSoFar)")
            kill(pid_t(agent), SIGTERM)
            #expect(await pipeline.end().code == 0)
        }
    }
}
