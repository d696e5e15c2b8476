import BellhopCore
import BellhopTesting
import Glibc
import Simulator
import Testing

/// The real program, killed after a request was received but before its outcome was stored.
@Suite(.timeLimit(.minutes(5)), .closing) struct RequestCrashTests {
    private static func rules(_ more: String) -> String {
        """
        rule: order
        on: task_created
        do:
          - rest: {to: api, path: issues, json: {title: "${{ task.title }}"}\(more)}
            retry: {attempts: 20, max_wait: 5m}

        """
    }

    private static func configuration(_ address: String) -> String {
        Stage.configuration(address).replacing("sources:", with: "  api: {kind: http, url: \"\(address)/rest/v1\"}\nsources:")
    }

    @Test func `a request that may have been received is never repeated automatically, wherever the agent is killed`()
        async throws
    {
        for checkpoint in ["before-t3", "after-t3", "after-perform", "after-t4"] {
            let stage = try await Stage.set(rules: Self.rules(""), configuration: Self.configuration)
            stage.simulation.api.quirks = [.forgetsKeys]
            stage.instance.addTask(title: "Lamp", assignedTo: Stage.user)
            let killed = try await stage.bellhop("run", "--once", environment: ["BELLHOP_CRASH": "\(checkpoint):1"])
            #expect(killed.code == 128 + SIGKILL)
            for _ in 1...4 {
                stage.time.pass(.seconds(600))
                try await stage.bellhop("run", "--once")
            }
            let states = try await stage.deliveries().compactMap { $0["state"]?.asString }
            let isUncertain = ["after-t3", "after-perform"].contains(checkpoint)
            #expect(states == [isUncertain ? "held" : "done"], "\(checkpoint)")
            #expect(stage.simulation.api.issues.count == (checkpoint == "after-t3" ? 0 : 1), "\(checkpoint)")
        }
    }

    @Test func `a repeatable request is repeated until its outcome is known`() async throws {
        let stage = try await Stage.set(rules: Self.rules(", repeatable: true"), configuration: Self.configuration)
        stage.instance.addTask(title: "Lamp", assignedTo: Stage.user)
        for _ in 1...3 {
            let killed = try await stage.bellhop("run", "--once", environment: ["BELLHOP_CRASH": "after-perform:1"])
            #expect(killed.code == 128 + SIGKILL)
            stage.time.pass(.seconds(600))
        }
        try await stage.bellhop("run", "--once")
        #expect(try await stage.deliveries().compactMap { $0["state"]?.asString } == ["done"])
        // The server knows the idempotency key, which was the same each time.
        #expect(stage.simulation.api.issues.count == 1)
        #expect(stage.simulation.requests.count("POST", path: "/rest/v1/issues") == 4)
    }
}
