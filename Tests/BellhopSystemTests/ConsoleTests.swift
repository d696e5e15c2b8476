import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Synchronization
import Testing

/// The console of a running agent, and commands that work through it.
@Suite(.timeLimit(.minutes(5)), .closing) struct `The console of an agent` {
    private static let rules = """
        rules:
          - rule: greet
            on: task_created
            do: [{comment: "Thanks, ${{ task.number }}."}]
        """

    private static func configuration(_ address: String, _ port: Int) -> String {
        Stage.configuration(address) + """
            console: {listen: "127.0.0.1:\(port)", users: [{name: ada, token: "${{ env.CLIENT_SECRET }}-of-ada", role: operator}]}

            """
    }

    /// Runs a command through a console that speaks HTTPS with the certificate of the stage's `cert.pem`.
    ///
    /// - Parameter environment: has the authority to trust.
    private func status(
        of stage: Stage, at address: String, _ environment: [String: String]
    ) async throws -> Program.Ended {
        try await stage.start(
            ["status", "--console", address],
            environment: environment.merging(["BELLHOP_TOKEN": Secrets.clientSecret + "-of-ada"]) { one, _ in one }
        ).end()
    }

    private static func securely(_ address: String, _ port: Int) -> String {
        configuration(address, port).replacing("users: [", with: "tls: {cert: cert.pem, key: key.pem}, users: [")
    }

    @Test func `a renewed certificate is used without a restart, as soon as its key is there`() async throws {
        let port = try FreePort.find()
        let stage = try await Stage.set(rules: Self.rules, configuration: { Self.securely($0, port) })
        let first = try stage.folder.write("first.pem", TestCertificate.first.certificate)
        let second = try stage.folder.write("second.pem", TestCertificate.second.certificate)
        try stage.folder.write("cert.pem", TestCertificate.first.certificate)
        try stage.folder.write("key.pem", TestCertificate.first.key)
        let agent = try stage.start(["run"])
        func isTrusted(with authority: String) async throws -> Bool {
            try await status(of: stage, at: "https://127.0.0.1:\(port)", ["BELLHOP_CA": authority]).code == 0
        }
        try await eventually("the console answers") { try await isTrusted(with: first) }
        try stage.folder.write("cert.pem", TestCertificate.second.certificate)
        #expect(try await isTrusted(with: first))
        try stage.folder.write("key.pem", TestCertificate.second.key)
        #expect(try await isTrusted(with: second))
        #expect(try await !isTrusted(with: first))
        await agent.stop()
    }

    @Test func `commands trust the authority in BELLHOP_CA, and without it the error names BELLHOP_CA`() async throws {
        let port = try FreePort.find()
        let stage = try await Stage.set(rules: Self.rules, configuration: { Self.securely($0, port) })
        let authority = try stage.folder.write("cert.pem", TestCertificate.first.certificate)
        try stage.folder.write("key.pem", TestCertificate.first.key)
        let agent = try stage.start(["run"])
        let secure = "https://127.0.0.1:\(port)"
        func status(_ environment: [String: String], at address: String) async throws -> Program.Ended {
            try await self.status(of: stage, at: address, environment)
        }
        try await eventually("the console answers") { try await status(["BELLHOP_CA": authority], at: secure).code == 0 }
        let untrusted = try await status([:], at: secure)
        #expect(untrusted.code == 69 && untrusted.errors.contains("BELLHOP_CA"), "\(untrusted.errors)")
        let missing = try await status(["BELLHOP_CA": "nowhere.pem"], at: secure)
        #expect(missing.code == 64 && missing.errors.contains("nowhere.pem"), "\(missing.errors)")
        let plain = try await status([:], at: "http://192.0.2.1:8090")
        #expect(plain.code == 64 && plain.errors.contains("https://") && !plain.errors.contains("plain_http"))
        await agent.stop()
    }

    @Test func `commands print the same through the console as beside the agent, with the role of their token`() async throws {
        let port = try FreePort.find()
        let address = "http://127.0.0.1:\(port)"
        let stage = try await Stage.set(rules: Self.rules, configuration: { Self.configuration($0, port) })
        let task = stage.instance.addTask("incident", title: "Mail is down", assignedTo: Stage.user)
        let agent = try stage.start(["run"])
        func remote(_ arguments: [String], token: String = Secrets.clientSecret + "-of-ada") async throws -> Program.Ended {
            try await stage.start(arguments + ["--console", address], environment: ["BELLHOP_TOKEN": token]).end()
        }
        try await eventually("the comment was made") { stage.notes(on: task.id).count == 1 }
        let status = try await remote(["status", "--json"])
        #expect(status.code == 0 && status.output.contains("\"my-work\""), "\(status.errors)")
        #expect(try await remote(["deliveries"]).output.contains("greet"))
        let event = try await stage.bellhop("events", "--json", "--type", "task_created").output
        let id = try JSON.parse(String(event.prefix { $0 != "\n" }))["id"]?.asString ?? ""
        let delivery = try await stage.deliveries()[0]["id"]?.asString ?? ""
        for command in [
            ["events"], ["events", id], ["events", "--type", "nothing", "--json"], ["deliveries"], ["deliveries", "--json"],
            ["deliveries", "show", delivery], ["deliveries", "show", "no-such-delivery"], ["silence", "list", "--json"],
            ["audit", "verify"], ["audit", "export"], ["replay", id, "--dry-run"], ["replay", id, "--dry-run", "--json"],
            ["forget", "NOTHING"], ["pause", "gret", "--rule"], ["deliveries", "retry", "no-such-delivery"],
        ] {
            let (here, there) = (try await stage.start(command).end(), try await remote(command))
            #expect(there.output == here.output && there.errors == here.errors, "\(command): \(there) \(here)")
            #expect(there.code == here.code, "\(command): \(there.code) \(here.code)")
        }
        // The agent judges conditions itself.
        for search in [
            ["events", "--json", "--where", "task.title.startsWith('Mail')"],
            ["events", "--json", "--where", "task.title == 'x'", "--type", "task_created"],
            ["deliveries", "--json", "--where", "delivery.rule == 'greet'", "--state", "done"],
        ] {
            let (here, there) = (try await stage.start(search).end(), try await remote(search))
            #expect(there.code == 0 && there.output == here.output, "\(search): \(there.errors)")
        }
        #expect(try await remote(["events", "--where", "task.title.startsWith('Mail')"]).output.contains("Mail is down"))
        // A mistake looks the same here and there, for people and for programs.
        let long = String(repeating: "task.title == 'Grüße' || ", count: 400) + "true"
        let middle = String(repeating: "task.title == 'Grüße' || ", count: 300) + "true"
        #expect(middle.utf8.count > 8000)
        for search in [
            ["events", "--where", "tsk.title == 'x'"], ["events", "--follow", "--where", "tsk.title == 'x'"],
            ["events", "--where", "task.title ==\n  1 + \"x\""], ["events", "--where", " "], ["events", "--where", long],
            ["deliveries", "--where", "delivery.sate == 'x'"],
            ["silence", "add", "--for", "1h", "--when", "tsk.title == 'x'"],
            ["silence", "add", "--for", "1h", "--when", "true &&"], ["silence", "add", "--for", "1h", "--when", long],
        ] {
            for command in [search, search + ["--json"]] {
                let (here, there) = (try await stage.start(command).end(), try await remote(command))
                #expect(there.code == 78 && here.code == 78, "\(command): \(there.code) \(here.code)")
                #expect(there.errors == here.errors && there.output == here.output, "\(command): \(there)")
            }
        }
        // A condition of nearly the maximum length is accepted.
        #expect(try await remote(["events", "--json", "--where", middle]).output.contains("Mail is down"))
        let failed = try await remote(["events", "--where", "[1][task.title.size()] == 2", "--type", "task_created"])
        #expect(failed.code == 0 && failed.errors.contains("The condition failed for 1 event"), "\(failed.errors)")
        let drop = ["deliveries", "drop", "--yes", "--where", "delivery.rule == 'other'"]
        #expect(try await remote(drop).output.contains("0 deliveries dropped"))
        #expect(try await remote(["silence", "add", "--for", "1h", "--when", "task.title == 'x'"]).code == 0)
        #expect(try await remote(["pause", "greet", "--rule", "--reason", "too loud"]).code == 0)
        #expect(try await stage.bellhop("status").output.contains("too loud"))
        let audit = try await stage.bellhop("audit", "export").output
        #expect(audit.contains("\"user\":\"ada\"") && audit.contains("\"command\":\"pause\""))
        // Refused: a command that needs the files beside the agent, and wrong tokens.
        #expect(try await remote(["check"]).code == 64)
        #expect(try await remote(["status"], token: "wrong-token-0123456789").code == 77)
        #expect(try await remote(["status"], token: "").code == 64)
        let made = try await stage.bellhop("console", "token", "add", "bob")
        let token = made.output.filter { !$0.isWhitespace }
        #expect(try await remote(["status"], token: token).code == 0)
        #expect(try await remote(["resume", "greet", "--rule"], token: token).code == 1)
        await agent.kill()
        #expect(try await remote(["status"]).code == 69)
        // The token survives the kill, and ends when it is removed.
        let second = try stage.start(["run"])
        try await eventually("the console answers") { try await remote(["status"], token: token).code == 0 }
        #expect(try await stage.bellhop("console", "token", "remove", "bob").code == 0)
        #expect(try await remote(["status"], token: token).code == 77)
        #expect(await second.stop().code == 0)
    }

    @Test(arguments: ["console", "inbound", "telemetry"])
    func `an agent whose address is in use ends at once, with a message`(_ setting: String) async throws {
        let place = Mutex("")
        let stage = try await Stage.set(
            rules: Self.rules,
            configuration: { address in
                // The simulated instance listens there.
                let taken = address.replacing("http://", with: "")
                place.withLock { $0 = taken }
                return Stage.configuration(address) + "\(setting): {listen: \"\(taken)\"}\n"
            })
        let ended = try await stage.start(["run"]).end()
        #expect(ended.code == 75, "\(ended.errors)")
        let sentence =
            "Another program uses \(place.withLock { $0 }), the address in `\(setting)`: stop it, or name another address."
        #expect(ended.errors.contains(sentence), "\(ended.errors)")
    }

    @Test func `a search finds events and deliveries by a condition, and explains a mistake`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        _ = stage.instance.addTask("incident", title: "Mail is down", assignedTo: Stage.user)
        _ = stage.instance.addTask("incident", title: "Printer burns", assignedTo: Stage.user)
        #expect(try await stage.bellhop("run", "--once").code == 0)
        let found = try await stage.bellhop("events", "--where", "task.title.startsWith('Mail')", "--json")
        let titles = try found.output.split(separator: "\n").map { try JSON.parse(String($0)).at("data", "task", "title") }
        #expect(!titles.isEmpty && titles.allSatisfy { $0 == "Mail is down" }, "\(found.errors)")
        let wrong = try await stage.bellhop("events", "--where", "tsk.title == 'x'")
        #expect(wrong.code == 78 && wrong.errors.contains("`task`"), "\(wrong.code) \(wrong.errors)")
        let condition = "delivery.task.title.startsWith('Mail') && delivery.text.contains('Thanks')"
        let made = try await stage.bellhop("deliveries", "--where", condition, "--json")
        let tasks = try made.output.split(separator: "\n").map { try JSON.parse(String($0)).at("task", "title") }
        #expect(tasks == ["Mail is down"], "\(made.errors)")
        let retried = try await stage.bellhop("deliveries", "drop", "--yes", "--where", condition)
        #expect(retried.output.contains("0 deliveries dropped"), "\(retried.errors)")
        let none = try await stage.bellhop("deliveries", "drop", "--yes", "--where", "false", "--json")
        #expect(try JSON.parse(none.output)["deliveries"] == [], "\(none.errors)")
        #expect(try await stage.bellhop("deliveries", "--where", "delivery.sate == 'x'").errors.contains("`state`"))
    }

    @Test func `following continues over broken connections, and prints each event once`() async throws {
        let port = try FreePort.find()
        let stage = try await Stage.set(rules: Self.rules, configuration: { Self.configuration($0, port) })
        // Each connection is cut in another part of its answer, mostly within an event.
        let relay = try CuttingRelay(to: port, cutting: "/events/stream", after: [2500, 3100, 400, 3900, 2800])
        defer { relay.stop() }
        for number in 0..<3 { stage.instance.addTask("incident", title: "Early \(number)", assignedTo: Stage.user) }
        let agent = try stage.start(["run"])
        func created() async throws -> [String] {
            try await stage.bellhop("events", "--json", "--limit", "1000", "--type", "task_created").output.split(
                separator: "\n"
            ).map(String.init)
        }
        try await eventually("the first events are there") { try await created().count == 3 }
        let condition = "task.title != 'never' || [1][task.title.size()] == 2"
        let follower = try stage.start(
            [
                "events", "--follow", "--json", "--type", "task_created", "--where", condition, "--console",
                "http://127.0.0.1:\(relay.port)",
            ], environment: ["BELLHOP_TOKEN": Secrets.clientSecret + "-of-ada"])
        func followed() -> [String] { follower.outputSoFar.split(separator: "\n").map(String.init) }
        try await eventually("the list is printed") { followed().count == 3 }
        var count = 3
        try await eventually("its connection is cut five times", within: .seconds(120)) {
            if relay.cuts == 5 { return true }
            stage.instance.addTask("incident", title: "Late \(count)", assignedTo: Stage.user)
            count += 1
            try await Task.sleep(for: .milliseconds(300))
            return false
        }
        try await eventually("all are printed") { followed().count >= count }
        #expect(try await created() == followed())
        let said = follower.errorsSoFar
        #expect(said.contains("Trying again in 1 s, after the last event shown."), "\(said)")
        #expect(said.contains("The console answers again."), "\(said)")
        // It waits for an agent that is away.
        await agent.stop()
        try await eventually("it waits for the agent") {
            follower.errorsSoFar.split(separator: "\n").last?.contains("Trying again") == true
        }
        await follower.stop()
    }

    @Test func `following continues after the store is replaced, and says so`() async throws {
        let port = try FreePort.find()
        let stage = try await Stage.set(rules: Self.rules, configuration: { Self.configuration($0, port) })
        let (store, backup) = (stage.folder.path + "/bellhop.db", stage.folder.path + "/backup.db")
        stage.instance.addTask("incident", title: "Early", assignedTo: Stage.user)
        #expect(try await stage.bellhop("run", "--once").code == 0)
        try FileManager.default.copyItem(atPath: store, toPath: backup)
        for number in 0..<4 { stage.instance.addTask("incident", title: "Lost \(number)", assignedTo: Stage.user) }
        let first = try stage.start(["run"])
        let arguments = ["events", "--follow", "--json", "--type", "task_created"]
        let here = try stage.start(arguments)
        try await eventually("the list is printed here") { here.outputSoFar.contains("Lost 3") }
        let there = try stage.start(
            arguments + ["--console", "http://127.0.0.1:\(port)"],
            environment: ["BELLHOP_TOKEN": Secrets.clientSecret + "-of-ada"])
        try await eventually("the list is printed there") { there.outputSoFar.contains("Lost 3") }
        await first.stop()
        // The tasks are deleted, so that the restored store sees none of them again.
        for task in stage.instance.tasks where task.title != "Early" { stage.instance.deleteTask(task.id) }
        #expect(rename(backup, store) == 0)
        let sentence = "The store was replaced; new events follow."
        try await eventually("it is noticed without an agent") { here.errorsSoFar.contains(sentence) }
        let second = try stage.start(["run"])
        try await eventually("it is noticed through the console") { there.errorsSoFar.contains(sentence) }
        stage.instance.addTask("incident", title: "Late", assignedTo: Stage.user)
        for follower in [here, there] {
            try await eventually("what comes now is printed") { follower.outputSoFar.contains("\"Late\"") }
            #expect(follower.errorsSoFar.components(separatedBy: sentence).count == 2, "\(follower.errorsSoFar)")
            await follower.stop()
        }
        await second.stop()
    }

    @Test func `following ends at once if the console cannot be reached`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let ended = try await stage.bellhop(
            "events", "--follow", "--console", "http://127.0.0.1:9", environment: ["BELLHOP_TOKEN": "token-of-nobody-at-all"])
        #expect(ended.code == 69 && ended.errors.contains("127.0.0.1:9"), "\(ended.errors)")
    }

    @Test func `at its start an agent reports a stored token whose name a user in bellhop.yaml has`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        #expect(try await stage.bellhop("run", "--once").code == 0)
        #expect(try await stage.bellhop("console", "token", "add", "ada").code == 0)
        #expect(try await stage.bellhop("run", "--once").errors.contains("refused-token") == false)
        try stage.folder.write("bellhop.yaml", Self.configuration(stage.address, try FreePort.find()))
        let ended = try await stage.bellhop("run", "--once")
        #expect(ended.code == 0 && ended.errors.contains("console token remove ada"), "\(ended.errors)")
        #expect(ended.errors.contains("[refused-token]"))
    }
}
