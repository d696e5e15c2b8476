import BellhopCore
import BellhopTelemetry
import BellhopTesting
import Testing

@testable import BellhopAgent
@testable import BellhopConsole

@Suite struct TelemetryHandlerTests {
    private func ask(
        _ fixture: ConsoleFixture, _ path: String, method: String = "GET", as role: ConsoleRole? = nil, accept: String? = nil
    ) async -> (status: Int, type: String?, text: String) {
        var headers: [(name: String, value: String)] = []
        if let role { headers.append(("Authorization", "Bearer \(ConsoleFixture.tokens[role] ?? "")")) }
        if let accept { headers.append(("Accept", accept)) }
        let answer = await fixture.desk.answer(ConsoleRequest(method, path, headers: headers, peer: "192.0.2.1"))
        return (answer.status, answer.field("Content-Type"), answer.text)
    }

    @Test func `the console shows anyone whether the agent is ready, and only users the metrics`() async throws {
        let fixture = try await ConsoleFixture()
        let ready = await ask(fixture, "/health/ready")
        #expect(ready.status == 503 && ready.text.contains(#""code":"no_rules""#) && ready.type == "application/json")
        #expect(await ask(fixture, "/health/live").status == 200)
        #expect(await ask(fixture, "/metrics").status == 401)
        let metrics = await ask(fixture, "/metrics", as: .viewer)
        #expect(metrics.status == 200 && metrics.type == MetricsFormat.prometheus.contentType)
        #expect(metrics.text.contains("\nbellhop_ready 0.0\n"))
        let open = await ask(fixture, "/metrics", as: .viewer, accept: "application/openmetrics-text;version=1.0.0")
        #expect(open.type == MetricsFormat.openMetrics.contentType && open.text.hasSuffix("# EOF\n"))
        let refused = await ask(fixture, "/metrics")
        #expect(refused.type == "application/problem+json")
        #expect(await ask(fixture, "/health/live", method: "POST").status == 405)
    }

    @Test func `counters of known rules, actions and sources are zero before the first count`() async throws {
        var reading = AgentReading.test
        (reading.rules, reading.actions, reading.sources) = (["a"], ["notify"], ["s"])
        let text = await ask(try await ConsoleFixture(reading: reading), "/metrics", as: .viewer).text
        for line in [
            #"bellhop_rule_errors_total{rule="a"} 0"#, #"bellhop_rule_keys_dropped_total{rule="a"} 0"#,
            #"bellhop_deliveries_total{action="notify",result="dead"} 0"#,
            #"bellhop_deliveries_total{action="notify",result="done"} 0"#, #"bellhop_poll_events_total{source="s"} 0"#,
        ] { #expect(text.contains("\n" + line), "\(line)") }
    }

    @Test func `a paused rule in force is a metric and a reason, and does not make the agent unready`() async throws {
        var reading = AgentReading.test
        reading.rules = ["full", "loud"]
        reading.status?.pauses = [
            Pause(.rule("full"), since: TestClock().now, reason: "it has too many keys", isByPerson: false),
            Pause(.rule("loud"), since: TestClock().now, reason: "too loud"),
            Pause(.rule("removed"), since: TestClock().now, reason: ""),
            Pause(.writes, since: TestClock().now, reason: ""),
        ]
        let fixture = try await ConsoleFixture(reading: reading)
        let lines = await ask(fixture, "/metrics", as: .viewer).text.split(separator: "\n").map(String.init)
        #expect(
            lines.filter { $0.hasPrefix("bellhop_rule_paused{") } == [
                #"bellhop_rule_paused{rule="full",by="bellhop"} 1.0"#, #"bellhop_rule_paused{rule="loud",by="person"} 1.0"#,
            ])
        let ready = await ask(fixture, "/health/ready")
        #expect(ready.status == 200 && ready.text.contains("The rule full is paused") && !ready.text.contains("removed"))
    }

    @Test func `while the store cannot be read, no source is said to have no failures`() async throws {
        var reading = AgentReading.test
        reading.sources = ["s"]
        let readable = try await ConsoleFixture(reading: reading)
        let failures = #"bellhop_source_failures{source="s"} 0.0"#
        #expect(await ask(readable, "/metrics", as: .viewer).text.contains(failures))
        reading.status = nil
        let unreadable = try await ConsoleFixture(reading: reading)
        #expect(await !ask(unreadable, "/metrics", as: .viewer).text.contains(failures))
    }

    @Test func `a source whose first result since the start is held does not keep the agent from being ready`() async throws {
        var reading = AgentReading.test
        (reading.rules, reading.sources) = (["a"], ["s"])
        let unpolled = try await ConsoleFixture(reading: reading)
        #expect(await ask(unpolled, "/health/ready").status == 503)
        let scope = Scope(instance: "i", user: "u", kind: "k", query: "q")
        let held = HeldResult(known: 100, listing: Listing(), comparison: Comparison(), at: reading.now)
        reading.status?.sources = [
            .init(
                source: "s", scope: scope, hasBaseline: true, tasks: 100, lastCommit: nil, health: SourceHealth(held: held))
        ]
        let holding = try await ConsoleFixture(reading: reading)
        #expect(await ask(holding, "/health/ready").status == 200)
    }

    @Test func `a hanging loop makes the agent neither live nor ready`() async throws {
        var reading = AgentReading.test
        reading.rules = ["a"]
        let ready = try await ConsoleFixture(reading: reading)
        #expect(await ask(ready, "/health/ready").status == 200)
        reading.hangingLoops = ["router"]
        let dead = try await ConsoleFixture(reading: reading)
        let answer = await ask(dead, "/health/live")
        #expect(answer.status == 503 && answer.text.contains("router"))
        #expect(await ask(dead, "/health/ready").status == 503)
    }
}
