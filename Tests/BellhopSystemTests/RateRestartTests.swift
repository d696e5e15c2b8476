import BellhopTesting
import Glibc
import Simulator
import Testing

/// The real program with a `rate`, stopped and killed repeatedly.
@Suite(.timeLimit(.minutes(5)), .closing) struct RateOverRestartsTests {
    private static let rules = """
        rule: order
        on: task_created
        do:
          - rest: {to: api, path: issues, json: {title: "${{ task.title }}"}, repeatable: true}
            retry: {attempts: 20, max_wait: 5m}

        """

    private static func configuration(_ address: String) -> String {
        Stage.configuration(address).replacing(
            "sources:", with: "  api: {kind: http, url: \"\(address)/rest/v1\", rate: 5/m}\nsources:")
    }

    @Test(arguments: [nil, "after-perform:1", "after-t3:1"])
    func `a connection sends no more than its rate, however often the agent restarts`(_ crash: String?) async throws {
        let stage = try await Stage.set(rules: Self.rules, configuration: Self.configuration)
        for number in 1...12 { stage.instance.addTask(title: "task \(number)", assignedTo: Stage.user) }
        for round in 1...2 {
            for _ in 1...4 {
                let ended = try await stage.bellhop("run", "--once", environment: crash.map { ["BELLHOP_CRASH": $0] } ?? [:])
                if crash == nil { #expect(ended.code != 128 + SIGKILL) }
            }
            let sent = stage.simulation.requests.count("POST", path: "/rest/v1/issues")
            #expect(sent <= 5 * round)
            if crash != "after-t3:1" { #expect(sent > 5 * (round - 1)) }
            stage.time.pass(.seconds(70))
        }
        for _ in 1...20 where try await !stage.deliveries("available", "running").isEmpty {
            try await stage.bellhop("run", "--once")
            stage.time.pass(.seconds(70))
        }
        #expect(stage.simulation.api.issues.count == 12)
    }
}
