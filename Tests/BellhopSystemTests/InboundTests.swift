import BellhopCore
import BellhopTesting
import Glibc
import Simulator
import Testing

/// Requests from outside to a running agent.
@Suite(.timeLimit(.minutes(5))) struct `Requests from outside to an agent` {
    /// A port that was free a moment ago.
    private static func freePort() throws -> Int {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> Int? in
                guard bind(socket, address, size) == 0, getsockname(socket, address, &size) == 0 else { return nil }
                return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    Int(UInt16(bigEndian: $0.pointee.sin_port))
                }
            }
        }
        return try #require(port)
    }

    private static func configuration(_ address: String, port: Int) -> String {
        let key = "auth: {bearer: \"${{ env.CLIENT_SECRET }}\"}"
        let push = "push: {path: /in/snow, \(key)}"
        return Stage.configuration(address, every: "1h, \(push)") + """
              deploys: {kind: webhook, path: /in/deploys, \(key), event: deploy_finished, id: service, dedup: id}
            inbound: {listen: "127.0.0.1:\(port)"}
            events:
              deploy_finished: {fields: {service: text, ok: boolean}}

            """
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
            do: [{log: "seen: ${{ task.title }}"}]
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

    @Test func `an event that was answered 202 survives a kill, and the same delivery is one event`() async throws {
        let port = try Self.freePort()
        try await Stage.set(rules: Self.rules, configuration: { Self.configuration($0, port: port) }) { stage in
            let body = #"{"id": "d1", "service": "mail", "ok": false}"#
            let first = try stage.start(["run"])
            try await eventually("it listens") { try await post("", port, "/other") == "404" }
            #expect(try await post(body, port, "/in/deploys", token: "wrong") == "401")
            #expect(try await post("{", port, "/in/deploys") == "400")
            #expect(try await post(body, port, "/in/deploys") == "202")
            first.send(SIGKILL)
            _ = await first.end()
            let second = try stage.start(["run"])
            try await eventually("it listens again") { try await post(body, port, "/in/deploys") == "202" }
            try await eventually("the rule ran") {
                second.outputSoFar.contains("failed: mail") || first.outputSoFar.contains("failed: mail")
            }
            second.send(SIGTERM)
            #expect(await second.end().code == 0)
            let events = try await stage.events().filter { $0["type"] == "deploy_finished" }
            #expect(events.count == 1)
            #expect(events[0]["subject"] == "deploys/mail")
            #expect(events[0]["data"] == ["service": "mail", "ok": false])
            #expect(try await stage.deliveries().count { $0["rule"] == "deployed" } == 1)
            #expect(try await stage.bellhop("events", "--type", "deploy_finished").output.contains("deploys"))
        }
    }

    @Test func `a push polls its source at once`() async throws {
        let port = try Self.freePort()
        try await Stage.set(rules: Self.rules, configuration: { Self.configuration($0, port: port) }) { stage in
            let agent = try stage.start(["run"])
            try await eventually("it polls") { agent.errorsSoFar.contains("The source was polled") }
            stage.instance.addTask(title: "One", assignedTo: Stage.user)
            #expect(try await post("", port, "/in/snow", token: "") == "401")
            #expect(try await post("", port, "/in/snow") == "202")
            try await eventually("the task is seen") { agent.outputSoFar.contains("seen: One") }
            agent.send(SIGTERM)
            #expect(await agent.end().code == 0)
        }
    }
}
