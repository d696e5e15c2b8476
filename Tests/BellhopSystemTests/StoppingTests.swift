import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Testing

/// Stopping the agent.
@Suite(.timeLimit(.minutes(5))) struct StoppingTests {
    static let rules = """
        rule: tell
        on: task_created
        do: [{webhook: {to: hook, json: {title: "${{ task.title }}"}}}]

        """

    @Test(arguments: [SIGTERM, SIGINT]) func `a stop lets the agent finish work in flight`(_ signal: Int32) async throws {
        try await Stage.set(rules: Self.rules) { stage in
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
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a second signal ends the agent at once, with a message`(_ signal: Int32) async throws {
        try await Stage.set(rules: Self.rules) { stage in
            stage.simulation.faults.add(.slow(milliseconds: 60_000), path: "/webhook", times: nil)
            stage.instance.addTask(title: "One", assignedTo: Stage.user)
            let agent = try stage.start(["run"])
            try await eventually("the webhook is under way") { stage.simulation.requests.count("POST", path: "/webhook") > 0 }
            agent.send(signal)
            try await eventually("it finishes what is in flight") {
                agent.errorsSoFar.contains("Stopping; deliveries in progress")
            }
            agent.send(signal)
            let ended = await agent.end(within: .seconds(5))
            #expect(ended.code == 128 + signal, "\(ended.errors)")
            #expect(ended.errors.contains("Second signal: Bellhop stops at once"))
        }
    }

    @Test func `a single pass that is stopped finishes its deliveries in flight and starts no more`() async throws {
        try await Stage.set(rules: Self.rules) { stage in
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
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
    func `a command that has read its configuration ends by a signal`(_ signal: Int32) async throws {
        try await Stage.set(rules: Self.rules) { stage in
            stage.simulation.faults.add(.slow(milliseconds: 60_000), path: "/webhook", times: nil)
            let command = try stage.start(["notify", "hook"])
            try await eventually("the webhook is under way") { stage.simulation.requests.count("POST", path: "/webhook") > 0 }
            command.send(signal)
            #expect(await command.end(within: .seconds(5)).code == 128 + signal)
        }
    }

    @Test(arguments: ["run", "check"], [SIGTERM, SIGINT, SIGHUP])
    func `a command interrupted while it reads a secret ends by the signal, with the secret's programs`(
        _ command: String, _ signal: Int32
    ) async throws {
        func configuration(_ address: String) -> String {
            "secrets: [command: [./slow]]\n"
                + Stage.configuration(address).replacing("${{ env.PASSWORD }}", with: "${{ secret.a }}")
        }
        try await Stage.set(rules: Self.rules, configuration: configuration) { stage in
            let script = "#!/bin/sh\ntrap '' TERM INT HUP\nsleep 600 &\necho $$ $! > pids\nmv pids asked\nwait\n"
            try stage.folder.write("slow", script, mode: 0o700)
            let agent = try stage.start([command])
            let asked = stage.folder.path + "/asked"
            try await eventually("it asks for the secret") { access(asked, F_OK) == 0 }
            agent.send(signal)
            #expect(await agent.end(within: .seconds(10)).code == 128 + signal)
            #expect(access(stage.folder.path + "/bellhop.db", F_OK) != 0, "no store was created")
            let programs = try String(contentsOfFile: asked, encoding: .utf8).split(whereSeparator: \.isWhitespace)
            #expect(programs.count == 2)
            try await eventually("the command and its child end") { programs.allSatisfy { ChildProcess.hasEnded($0) } }
        }
    }

    @Test func `an interrupted demonstration prints no verdict`() async throws {
        let folder = try TemporaryFolder()
        let demo = try Program(["demo"], in: folder.path)
        try await eventually("it runs") { demo.outputSoFar.contains("baseline") }
        demo.send(SIGINT)
        let ended = await demo.end()
        #expect(ended.code == 130, "\(ended.errors)")
        #expect(ended.output.contains("Interrupted before the end of the demonstration, so there is no result."))
        #expect(!ended.output.contains("really received"))
    }

    @Test func `a stop ends an idle agent at once`() async throws {
        try await Stage.set(rules: Self.rules) { stage in
            let agent = try stage.start(["run"])
            try await eventually("it polls") { agent.errorsSoFar.contains("The source was polled") }
            let ended = await agent.stop(within: .seconds(20))
            #expect(ended.code == 0, "\(ended.errors)")
        }
    }

    @Test func `a stop does not wait for a hanging poll`() async throws {
        try await Stage.set(rules: Self.rules) { stage in
            stage.simulation.faults.add(.slow(milliseconds: 120_000), path: "/api/x_snc_my_work", times: nil)
            let agent = try stage.start(["run"])
            try await eventually("a poll is under way") { stage.simulation.requests.count(path: "/api/x_snc_my_work") > 0 }
            let start = ContinuousClock.now
            let ended = await agent.stop()
            #expect(ended.code == 0, "\(ended.errors)")
            #expect(ContinuousClock.now - start < .seconds(60))
        }
    }

    @Test func `a receiver that never answers does not keep the agent from ending`() async throws {
        try await Stage.set(rules: Self.rules) { stage in
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
}
