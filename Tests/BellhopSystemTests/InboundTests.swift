import BellhopCore
import BellhopTesting
import Glibc
import Simulator
import Testing

/// Requests from outside to a running agent.
@Suite(.timeLimit(.minutes(5)), .closing) struct `Requests of other systems to an agent` {
    private static func configuration(_ address: String, port: Int) -> String {
        let key = "auth: {bearer: \"${{ env.CLIENT_SECRET }}\"}"
        let push = "push: {path: /in/snow, \(key)}"
        return Stage.configuration(address, every: "1h, \(push)") + """
              deploys: {kind: webhook, path: /in/deploys, \(key), event: deploy_finished, id: service, dedup: id}
              tickets: {kind: webhook, path: /in/tickets, \(key), event: task, items: data, id: key, title: name, fields: {level: {type: int}}}
            inbound: {listen: "127.0.0.1:\(port)"}
            events:
              deploy_finished: {fields: {service: text, ok: boolean}}

            """
    }

    /// The configuration in which the requests of one source have a secret that can change.
    private static func changing(_ address: String, port: Int) -> String {
        configuration(address, port: port).replacing(
            "path: /in/deploys, auth: {bearer: \"${{ env.CLIENT_SECRET }}\"}",
            with: "path: /in/deploys, auth: {bearer: \"${{ secret.deploys }}\"}")
    }

    private static let rules = """
        rules:
          - rule: deployed
            on: deploy_finished
            from: deploys
            when: "!event.data.ok"
            do: [{log: "failed: ${{ event.data.service }}"}]
          - rule: seen
            on: task_created
            from: my-work
            do: [{log: "seen: ${{ task.title }}"}]
          - rule: sent
            on: task_created
            from: tickets
            do: [{log: "sent: ${{ task.title }}"}]
          - rule: raised
            on: task_changed
            from: tickets
            when: task.level > 2
            do: [{log: "raised: ${{ task.title }}"}]
        """

    /// The status of the answer to a POST.
    private func post(_ body: String, _ port: Int, _ path: String, token: String = Secrets.clientSecret) async throws -> String {
        let curl = try Program(
            [
                "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Authorization: Bearer \(token)", "-d", body,
                "-H", "Content-Type: application/json", "http://127.0.0.1:\(port)\(path)",
            ], program: "/usr/bin/curl", in: "/tmp")
        return await curl.end().output
    }

    @Test func `an event answered with 202 survives a kill, and a repeated request is the same event`() async throws {
        let port = try FreePort.find()
        let stage = try await Stage.set(rules: Self.rules, configuration: { Self.configuration($0, port: port) })
        let body = #"{"id": "d1", "service": "mail", "ok": false}"#
        let first = try stage.start(["run"])
        try await eventually("it listens") { try await post("", port, "/other") == "404" }
        #expect(try await post(body, port, "/in/deploys", token: "wrong") == "401")
        #expect(try await post("{", port, "/in/deploys") == "400")
        #expect(try await post(body, port, "/in/deploys") == "202")
        await first.kill()
        let second = try stage.start(["run"])
        try await eventually("it listens again") { try await post(body, port, "/in/deploys") == "202" }
        try await eventually("the rule ran") {
            second.outputSoFar.contains("failed: mail") || first.outputSoFar.contains("failed: mail")
        }
        #expect(await second.stop().code == 0)
        let events = try await stage.events().filter { $0["type"] == "deploy_finished" }
        #expect(events.count == 1)
        #expect(events[0]["subject"] == "deploys/mail")
        #expect(events[0]["data"] == ["service": "mail", "ok": false])
        #expect(try await stage.deliveries().count { $0["rule"] == "deployed" } == 1)
        #expect(try await stage.bellhop("events", "--type", "deploy_finished").output.contains("deploys"))
    }

    @Test func `changed tasks in bodies cause events, even after a kill, and a repeated body changes nothing`() async throws {
        let port = try FreePort.find()
        let stage = try await Stage.set(rules: Self.rules, configuration: { Self.configuration($0, port: port) })
        let body = #"{"data": [{"key": "t1", "name": "One", "level": 1}, {"key": "t2", "name": "Two", "level": 1}]}"#
        let first = try stage.start(["run"])
        try await eventually("it listens") { try await post("", port, "/other") == "404" }
        #expect(try await post(#"{"data": [{"name": "One"}]}"#, port, "/in/tickets") == "400")
        #expect(try await post(body, port, "/in/tickets") == "202")
        #expect(try await post(body, port, "/in/tickets") == "202")
        await first.kill()
        let second = try stage.start(["run"])
        try await eventually("it listens again") { try await post(body, port, "/in/tickets") == "202" }
        let raised = #"{"data": [{"key": "t2", "name": "Two", "level": 3}]}"#
        #expect(try await post(raised, port, "/in/tickets") == "202")
        try await eventually("the rules ran") {
            let output = first.outputSoFar + second.outputSoFar
            return output.contains("sent: One") && output.contains("sent: Two") && output.contains("raised: Two")
        }
        #expect(await second.stop().code == 0)
        let events = try await stage.events().filter { $0["source"] == "tickets" }
        #expect(events.compactMap { $0["type"]?.asString } == ["task_created", "task_created", "task_changed"])
    }

    @Test func `a changed secret is used for requests at once, and a removed one refuses them`() async throws {
        let port = try FreePort.find()
        let stage = try await Stage.set(rules: Self.rules, configuration: { Self.changing($0, port: port) })
        _ = try await stage.bellhop("secret", "set", "deploys", input: "first-long-token\n")
        let agent = try stage.start(["run"])
        try await eventually("it listens") { try await post("", port, "/other") == "404" }
        func status(_ token: String) async throws -> String {
            try await post(#"{"id": "d1", "service": "mail", "ok": true}"#, port, "/in/deploys", token: token)
        }
        #expect(try await status("first-long-token") == "202")
        let set = try await stage.bellhop("secret", "set", "deploys", input: "second-long-token\n")
        #expect(set.errors.contains("The running agent uses it from now on (source `deploys`)."), "\(set.errors)")
        #expect(try await status("first-long-token") == "401")
        #expect(try await status("second-long-token") == "202")
        let removed = try await stage.bellhop("secret", "remove", "deploys")
        #expect(removed.errors.contains("Requests to /in/deploys are refused"), "\(removed.errors)")
        #expect(try await status("second-long-token") == "503")
        #expect(await agent.stop().code == 0)
    }

    @Test func `a secret that changed in a file is used for requests after SIGHUP, and stays in use without the file`()
        async throws
    {
        let port = try FreePort.find()
        func configuration(_ address: String) -> String {
            Self.changing(address, port: port).replacing(
                "version: 1\n", with: "version: 1\nsecrets: [keychain, {folder: secrets}]\n")
        }
        let stage = try await Stage.set(rules: Self.rules, configuration: configuration)
        try stage.folder.write("secrets/deploys", "first-long-token\n")
        let agent = try await stage.startAgent()
        func status(_ token: String) async throws -> String {
            try await post(#"{"id": "d1", "service": "mail", "ok": true}"#, port, "/in/deploys", token: token)
        }
        try await eventually("it listens") { try await status("first-long-token") == "202" }
        try stage.folder.write("secrets/deploys", "second-long-token\n")
        agent.send(SIGHUP)
        try await eventually("it is in use") { agent.errorsSoFar.contains("The changed secrets are in use.") }
        #expect(try await status("first-long-token") == "401")
        #expect(try await status("second-long-token") == "202")
        unlink(stage.folder.path + "/secrets/deploys")
        agent.send(SIGHUP)
        try await eventually("it cannot be read") { agent.errorsSoFar.contains("It stays as it was.") }
        #expect(try await status("second-long-token") == "202")
    }

    @Test func `a push polls its source at once`() async throws {
        let port = try FreePort.find()
        let stage = try await Stage.set(rules: Self.rules, configuration: { Self.configuration($0, port: port) })
        let agent = try await stage.startAgent()
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        #expect(try await post("", port, "/in/snow", token: "") == "401")
        #expect(try await post("", port, "/in/snow") == "202")
        try await eventually("the task is seen") { agent.outputSoFar.contains("seen: One") }
    }
}
