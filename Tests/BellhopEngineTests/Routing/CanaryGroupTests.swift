import BellhopCore
import BellhopRules
import BellhopTesting
import Testing

@testable import BellhopEngine

/// `mode: {canary: …}` beside `group`.
@Suite(.timeLimit(.minutes(5))) struct `Groups of a canary rule` {
    private static let canary = Canary(percent: 50)

    /// Ids of tasks for which the rule is live, or in shadow mode.
    private static func ids(_ isLive: Bool) -> [String] {
        (0..<50).map { "t\($0)" }.filter { canary.includes($0, of: "r") == isLive }
    }

    private static func rule(_ group: String) -> String {
        """
        rule: r
        on: task_created
        mode: {canary: 50%}
        group: {\(group)}
        do: [{log: "${{ key }} ${{ events.map(e, e.data.task.id) }}"}]
        """
    }

    private func recorded(_ agent: TestAgent) async throws -> [String] {
        try await agent.bench.deliveries(.shadow).map { $0.delivery.text }
    }

    @Test func `a canary rule gathers live tasks and shadow tasks in separate groups`() async throws {
        let (live, shadow) = (Self.ids(true), Self.ids(false))
        let agent = try await TestAgent(Self.rule("by: task.priority, wait: 5m"))
        for id in [live[0], shadow[0], live[1], shadow[1]] { try await agent.put(id) }
        #expect(try await agent.texts(after: 6) == ["1 \(JSON.array([.string(live[0]), .string(live[1])]).text)"])
        #expect(try await recorded(agent) == ["1 \(JSON.array([.string(shadow[0]), .string(shadow[1])]).text)"])
        #expect(try await agent.bench.store.nextTimer() == nil)
    }

    @Test func `a live group counts only live tasks for its size and its interval`() async throws {
        let (live, shadow) = (Self.ids(true), Self.ids(false))
        let agent = try await TestAgent(Self.rule("wait: 1m, every: 1h, max: 2"))
        for id in [shadow[0], live[0], shadow[1], live[1], live[2]] { try await agent.put(id) }
        #expect(agent.texts.count == 1)
        #expect(try await recorded(agent).count == 1)
        #expect(try await agent.texts(after: 61).count == 2)
    }
}
