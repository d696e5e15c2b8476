import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Testing

/// The metrics, health, traces and signs of life of a running agent.
@Suite(.timeLimit(.minutes(5)), .closing) struct `The telemetry of an agent` {
    private static let rules = """
        rules:
          - rule: forward
            on: task_created
            do: [{notify: {to: hook, title: "New: ${{ task.number }}"}}]
        """

    private static func configuration(_ address: String, _ port: Int) -> String {
        Stage.configuration(address) + """
            telemetry: {listen: "127.0.0.1:\(port)", otlp: "\(address)/otlp", sample: 1}

            """
    }

    /// Prometheus's own tool, where it is installed.
    private static let promtool = [ProcessInfo.processInfo.environment["PROMTOOL"], "/usr/bin/promtool"]
        .compactMap(\.self).first { FileManager.default.isExecutableFile(atPath: $0) }

    private func get(_ port: Int, _ path: String, accept: String = "*/*") async throws -> (status: Int, body: String) {
        let curl = try Program(
            ["-sS", "-m", "10", "-H", "Accept: \(accept)", "-w", "\n%{http_code}", "http://127.0.0.1:\(port)\(path)"],
            program: "/usr/bin/curl", in: "/tmp")
        let lines = await curl.end().output.split(separator: "\n", omittingEmptySubsequences: false)
        return (Int(lines.last ?? "") ?? 0, lines.dropLast().joined(separator: "\n"))
    }

    @Test func `one trace leads from the poll through the rules to the receiver, which gets the trace context`() async throws {
        let port = try FreePort.find()
        let stage = try await Stage.set(rules: Self.rules, configuration: { Self.configuration($0, port) })
        _ = stage.instance.addTask("incident", title: "Mail is down", assignedTo: Stage.user)
        let agent = try stage.start(["run"])
        try await eventually("the message arrived") { stage.simulation.requests.count("POST", path: "/webhook/hook") == 1 }
        #expect(await agent.stop().code == 0)

        let request = try #require(stage.simulation.requests.matching("POST", path: "/webhook/hook").first)
        let parts = try #require(request.header("traceparent")).split(separator: "-").map(String.init)
        #expect(parts.count == 4 && parts[0] == "00" && parts[3] == "01")
        let spans = stage.simulation.telemetry.spans.filter { $0.trace == parts[1] }
        #expect(Set(spans.map(\.name)) == ["poll", "route", "deliver notify"], "\(spans.map(\.name))")
        let root = try #require(spans.first { $0.parent == nil })
        #expect(root.name == "poll" && spans.allSatisfy { $0.parent == nil || $0.parent == root.id })
        let delivery = try #require(spans.first { $0.name == "deliver notify" })
        #expect(delivery.id == parts[2] && delivery.attributes["bellhop.receiver"] == "hook" && !delivery.isError)
        // The event's own id is the trace's, so that one is found by the other.
        #expect(try await stage.bellhop("events", "--json").output.contains(parts[1]))
        // The last export, at the end of the run, contains the metrics too.
        #expect(stage.simulation.telemetry.metrics["bellhop_deliveries_total"] != nil)
    }

    @Test func `metrics and health are served while it runs, and health says why the agent is not ready`() async throws {
        let port = try FreePort.find()
        let stage = try await Stage.set(rules: Self.rules, configuration: { Self.configuration($0, port) })
        stage.simulation.faults.add(.hangs, path: "/api/x_snc_my_work/v1/tracker/task", times: nil)
        let agent = try stage.start(["run"])
        try await eventually("it answers") { (try? await get(port, "/health/live"))?.status == 200 }
        let health = try await get(port, "/health/ready")
        #expect(health.status == 503 && health.body.contains("source_not_polled") && health.body.contains("my-work"))
        stage.simulation.faults.removeAll()
        await agent.stop()

        _ = stage.instance.addTask("incident", title: "Mail is down", assignedTo: Stage.user)
        let second = try stage.start(["run"])
        try await eventually("it is ready") { (try? await get(port, "/health/ready"))?.status == 200 }
        try await eventually("it delivered") {
            try await get(port, "/metrics").body.contains("bellhop_deliveries_total{action=\"notify\",result=\"done\"} 1\n")
        }
        #expect(try await get(port, "/").status == 404)
        let metrics = try await get(port, "/metrics", accept: "application/openmetrics-text; version=1.0.0")
        #expect(metrics.body.hasSuffix("# EOF\n") && metrics.body.contains("# {trace_id="))
        #expect(!metrics.body.contains(Secrets.password))
        try await check(try await get(port, "/metrics").body)
        #expect(await second.stop().code == 0)
    }

    @Test(.enabled(if: promtool != nil, "promtool is not installed"))
    func `Prometheus accepts the shipped alerts`() async throws {
        let promtool = try #require(Self.promtool)
        let ended = try await Program(
            ["check", "rules", Repository.root.path + "/.packaging/monitoring/alerts.yaml"], program: promtool, in: "/tmp"
        ).end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    }

    /// Checks metrics with promtool, if it is installed.
    private func check(_ metrics: String) async throws {
        guard let promtool = Self.promtool else { return }
        let ended = try await Program(["check", "metrics"], program: promtool, in: "/tmp", input: metrics).end()
        #expect(ended.code == 0, "\(ended.errors)")
    }
}
