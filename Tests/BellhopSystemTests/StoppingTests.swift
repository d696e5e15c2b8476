import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Testing

@Suite(.timeLimit(.minutes(5)), .closing) struct StoppingTests {
    static let rules = """
        rule: tell
        on: task_created
        do: [{webhook: {to: hook, json: {title: "${{ task.title }}"}}}]

        """

    @Test(arguments: [SIGTERM, SIGINT]) func `a stop lets the agent finish work in flight`(_ signal: Int32) async throws {
        let stage = try await Stage.set(rules: Self.rules)
        stage.simulation.faults.add(.slow(milliseconds: 2000), path: "/webhook")
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let agent = try stage.start(["run"])
        try await eventually("the webhook is under way") { stage.simulation.requests.count("POST", path: "/webhook") > 0 }
        #expect(stage.simulation.receivers.received(by: "hook").isEmpty, "the webhook should still be in flight")
        agent.send(signal)
        let ended = await agent.end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(stage.simulation.receivers.received(by: "hook").count == 1)
        #expect(try await stage.deliveries().map { $0["state"] } == ["done"])

        try await stage.bellhop("run", "--once")
        #expect(stage.simulation.receivers.received(by: "hook").count == 1, "the next run has no deliveries left")
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a second signal ends the agent at once, with a message`(_ signal: Int32) async throws {
        let stage = try await Stage.set(rules: Self.rules)
        stage.simulation.faults.add(.slow(milliseconds: 60_000), path: "/webhook", times: nil)
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let agent = try stage.start(["run"])
        try await eventually("the webhook is under way") { stage.simulation.requests.count("POST", path: "/webhook") > 0 }
        agent.send(signal)
        try await eventually("it finishes what is in flight") {
            agent.errorsSoFar.contains("Stopping; deliveries in progress")
        }
        try await Task.sleep(for: .milliseconds(200))
        agent.send(signal)
        let ended = await agent.end()
        #expect(ended.code == 128 + signal, "\(ended.errors)")
        #expect(ended.errors.contains("Second signal: Bellhop stops at once"))
    }

    @Test func `a signal that comes twice at once, as from timeout, lets the agent finish work`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        stage.simulation.faults.add(.slow(milliseconds: 2000), path: "/webhook")
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let agent = try stage.start(["run"])
        try await eventually("the webhook is under way") { stage.simulation.requests.count("POST", path: "/webhook") > 0 }
        for _ in 1...2 { agent.send(SIGTERM) }
        let ended = await agent.end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(stage.simulation.receivers.received(by: "hook").count == 1)
    }

    @Test func `a single pass that is stopped finishes its deliveries in flight and starts no more`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        stage.simulation.faults.add(.slow(milliseconds: 2000), path: "/webhook")
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let pass = try stage.start(["run", "--once"])
        try await eventually("the webhook is under way") { stage.simulation.requests.count("POST", path: "/webhook") > 0 }
        #expect(stage.simulation.receivers.received(by: "hook").isEmpty, "the webhook should still be in flight")
        let ended = await pass.stop()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(stage.simulation.receivers.received(by: "hook").count == 1)
        #expect(try await stage.deliveries().map { $0["state"] } == ["done"])
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
    func `a command that has read its configuration ends by a signal`(_ signal: Int32) async throws {
        let stage = try await Stage.set(rules: Self.rules)
        stage.simulation.faults.add(.slow(milliseconds: 60_000), path: "/webhook", times: nil)
        let command = try stage.start(["notify", "hook"])
        try await eventually("the webhook is under way") { stage.simulation.requests.count("POST", path: "/webhook") > 0 }
        command.send(signal)
        #expect(await command.end().code == 128 + signal)
    }

    @Test(arguments: ["run", "check"], [SIGTERM, SIGINT, SIGHUP])
    func `a command interrupted while it reads a secret ends by the signal, with the secret's programs`(
        _ command: String, _ signal: Int32
    ) async throws {
        func configuration(_ address: String) -> String {
            "secrets: [command: [./slow]]\n"
                + Stage.configuration(address).replacing("${{ env.PASSWORD }}", with: "${{ secret.a }}")
        }
        let stage = try await Stage.set(rules: Self.rules, configuration: configuration)
        let script = "#!/bin/sh\ntrap '' TERM INT HUP\nsleep 600 &\necho $$ $! > pids\nmv pids asked\nwait\n"
        try stage.folder.write("slow", script, mode: 0o700)
        let agent = try stage.start([command])
        let asked = stage.folder.path + "/asked"
        try await eventually("it asks for the secret") { access(asked, F_OK) == 0 }
        agent.send(signal)
        #expect(await agent.end().code == 128 + signal)
        #expect(access(stage.folder.path + "/bellhop.db", F_OK) != 0, "no store was created")
        let programs = try String(contentsOfFile: asked, encoding: .utf8).split(whereSeparator: \.isWhitespace)
        #expect(programs.count == 2)
        try await eventually("the command and its child end") { programs.allSatisfy { ChildProcess.hasEnded($0) } }
    }

    /// Starts a demonstration that makes its folder in this one.
    private static func demo(in folder: TemporaryFolder, program: String, _ arguments: [String]) throws -> Program {
        try Program(arguments, program: program, in: folder.path, environment: ["TMPDIR": folder.path])
    }

    private static func demoFolder(in folder: TemporaryFolder) throws -> String? {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).first { $0.hasPrefix("bellhop-demo-") }
    }

    @Test(arguments: [SIGINT, SIGHUP])
    func `an interrupted demonstration prints no verdict, and leaves no folder`(_ signal: Int32) async throws {
        let folder = try TemporaryFolder()
        let demo = try Self.demo(in: folder, program: Repository.program, ["demo"])
        try await eventually("it runs") { demo.outputSoFar.contains("baseline") }
        #expect(try Self.demoFolder(in: folder) != nil)
        demo.send(signal)
        let ended = await demo.end()
        #expect(ended.code == 130, "\(ended.errors)")
        #expect(ended.output.contains("Interrupted before the end of the demonstration, so there is no result."))
        #expect(!ended.output.contains("really received"))
        #expect(try Self.demoFolder(in: folder) == nil)
    }

    @Test func `a demonstration that ignores SIGHUP, as under nohup, goes on after its terminal is closed`() async throws {
        let folder = try TemporaryFolder()
        let script = "trap '' HUP; exec \"$@\""
        let demo = try Self.demo(
            in: folder, program: "/bin/sh", ["-c", script, "sh", Repository.program, "demo", "--speed", "120"])
        try await eventually("it runs") { demo.outputSoFar.contains("baseline") }
        demo.send(SIGHUP)
        try await eventually("it goes on") { demo.outputSoFar.contains("task_changed") }
        demo.send(SIGINT)
        #expect(await demo.end().code == 130)
    }

    @Test func `a demonstration that is interrupted before it begins ends at once`() async throws {
        let folder = try TemporaryFolder()
        let demo = try Self.demo(in: folder, program: Repository.program, ["demo"])
        try await eventually("it writes its configuration") {
            try Self.demoFolder(in: folder).map { access("\(folder.path)/\($0)/bellhop.yaml", F_OK) == 0 } ?? false
        }
        demo.send(SIGTERM)
        #expect(await demo.end().code == 130)
        #expect(try Self.demoFolder(in: folder) == nil)
    }

    @Test func `a demonstration whose reader has ended leaves no folder`() async throws {
        let folder = try TemporaryFolder()
        let script = "\"$@\" | head -n 1"
        let demo = try Self.demo(in: folder, program: "/bin/sh", ["-c", script, "sh", Repository.program, "demo"])
        _ = await demo.end()
        #expect(try Self.demoFolder(in: folder) == nil)
    }

    @Test func `a stop ends an idle agent at once`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let agent = try stage.start(["run"])
        try await eventually("it polls") { agent.errorsSoFar.contains("The source was polled") }
        let ended = await agent.stop(within: .seconds(20))
        #expect(ended.code == 0, "\(ended.errors)")
    }

    @Test func `a stop does not wait for a hanging poll`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        stage.simulation.faults.add(.slow(milliseconds: 120_000), path: "/api/x_snc_my_work", times: nil)
        let agent = try stage.start(["run"])
        try await eventually("a poll is under way") { stage.simulation.requests.count(path: "/api/x_snc_my_work") > 0 }
        let start = ContinuousClock.now
        let ended = await agent.stop()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(ContinuousClock.now - start < .seconds(60))
    }

    @Test func `a system call that never returns does not keep the agent from ending`() async throws {
        func configuration(_ address: String) -> String {
            Stage.configuration(address).replacing("version: 1\n", with: "version: 1\nsecrets: [{folder: secrets}]\n")
                .replacing("${{ env.HOOK_URL }}", with: "${{ secret.hook }}")
        }
        let stage = try await Stage.set(rules: Self.rules, configuration: configuration)
        try stage.folder.write("secrets/hook", "\(stage.address)/webhook/hook\n")
        let agent = try stage.start(["run"])
        try await eventually("it polls") { agent.errorsSoFar.contains("The source was polled") }
        // Reading a pipe waits for its writer.
        let secret = stage.folder.path + "/secrets/hook"
        unlink(secret)
        try #require(mkfifo(secret, 0o600) == 0)
        agent.send(SIGHUP)
        var writer: Int32 = -1
        defer { close(writer) }
        try await eventually("it reads the secret") {
            writer = open(secret, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            return writer >= 0
        }
        let ended = await agent.stop()
        #expect(ended.code == 128 + SIGTERM, "\(ended.errors)")
        #expect(ended.errors.contains("Current work did not end in time: Bellhop stops at once"), "\(ended.errors)")
    }

    @Test func `a receiver that never answers does not keep the agent from ending`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        stage.simulation.faults.add(.slow(milliseconds: 120_000), path: "/webhook", times: nil)
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let agent = try stage.start(["run"])
        try await eventually("the webhook is under way") { stage.simulation.requests.count("POST", path: "/webhook") > 0 }
        let ended = await agent.stop(within: .seconds(50))
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(try await stage.deliveries().map { $0["state"] } == ["available"], "it is due again")

        stage.simulation.faults.removeAll()
        stage.time.pass(.seconds(600))
        try await stage.bellhop("run", "--once")
        #expect(try await stage.deliveries().map { $0["state"] } == ["done"])
    }
}
