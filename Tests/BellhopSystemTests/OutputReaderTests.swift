import BellhopCore
import BellhopTesting
import Foundation
import Glibc
import Simulator
import Testing

/// Readers of the agent's output that end or stop reading.
@Suite(.timeLimit(.minutes(5)), .closing) struct OutputReaderTests {
    @Test func `the agent keeps running if the reader of its output ends`() async throws {
        let rules = "rule: note\non: task_created\ndo: [{log: \"A ${{ task.title }}\"}]\n"
        let stage = try await Stage.set(rules: rules)
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

    @Test func `what is printed to a closed standard output goes nowhere, and not into a file opened meanwhile`() async throws {
        let folder = try TemporaryFolder()
        let script = "exec \"$@\" <&- >&-"
        let program = try Program(["-c", script, "sh", Repository.program, "schema"], program: "/bin/sh", in: folder.path)
        let ended = await program.end()
        #expect(ended.code == 74)
        #expect(ended.errors == "error: Standard output cannot be written: Bad file descriptor.\n")
    }

    @Test func `a reader of the log that stops reading keeps the agent neither from its work nor from its end`() async throws {
        let rules = "rule: write\non: task_created\ndo: [{log: {text: \"${{ task.number }}\", file: all.log}}]\n"
        let stage = try await Stage.set(rules: rules)
        let pipe = stage.folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        _ = fcntl(reader, 1031, 4096)  // F_SETPIPE_SZ: the smallest possible pipe, which is not read
        for number in 1...100 { stage.instance.addTask(title: "Task \(number)", assignedTo: Stage.user) }
        let agent = try stage.start(["run"], under: ["/bin/sh", "-c", "exec \"$@\" 2> pipe", "sh"])
        try await eventually("all lines are in the file") {
            let text = (try? String(contentsOfFile: stage.folder.path + "/all.log", encoding: .utf8)) ?? ""
            return text.split(separator: "\n").count == 100
        }
        #expect(await agent.stop().code == 0)
    }

    @Test func `a reader that stops reading delays only the lines written for it`() async throws {
        let rules = """
            rules:
              - rule: print
                on: task_created
                do: [{log: "${{ task.title }} and much more ${{ task.title }}"}]
              - rule: write
                on: task_created
                do: [{log: {text: "${{ task.number }}", file: all.log}}]

            """
        let stage = try await Stage.set(rules: rules)
        // The pipe holds 64 KB and is not read.
        let pipe = stage.folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let agent = try stage.start(["run"], under: ["/bin/sh", "-c", "exec \"$@\" > pipe", "sh"])
        try await eventually("it polls") { agent.errorsSoFar.contains("The source was polled") }
        for number in 1...100 {
            stage.instance.addTask(title: String(repeating: "x", count: 600) + " \(number)", assignedTo: Stage.user)
        }
        try await eventually("all lines are in the file") {
            let text = (try? String(contentsOfFile: stage.folder.path + "/all.log", encoding: .utf8)) ?? ""
            return text.split(separator: "\n").count == 100
        }
        try await eventually("the others wait") {
            try await stage.deliveries("available").contains {
                $0["error"]?["message"]?.asString?.contains("its reader has stopped") == true
            }
        }
        #expect(await agent.stop().code == 0)
    }
}
