import BellhopCore
import BellhopRules
import BellhopTesting
import Testing

@testable import BellhopEngine

/// `mode: {canary: …}` beside `group`.
@Suite(.timeLimit(.minutes(5))) struct `Canaries that gather` {
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

    private func recorded(_ office: Office) async throws -> [String] {
        try await office.bench.deliveries(.shadow).map { $0.delivery.text }
    }

    @Test func `live tasks and shadow tasks are gathered apart, whichever event is the latest`() async throws {
        let (live, shadow) = (Self.ids(true), Self.ids(false))
        let office = try await Office(Self.rule("by: task.priority, wait: 5m"))
        for id in [live[0], shadow[0], live[1], shadow[1]] { try await office.put(id) }
        try await office.wait(6)
        #expect(office.texts == ["1 \(JSON.array([.string(live[0]), .string(live[1])]).text)"])
        #expect(try await recorded(office) == ["1 \(JSON.array([.string(shadow[0]), .string(shadow[1])]).text)"])
        #expect(try await office.bench.store.nextTimer() == nil)
    }

    @Test func `only live tasks fill a live group, and its pause applies only to it`() async throws {
        let (live, shadow) = (Self.ids(true), Self.ids(false))
        let office = try await Office(Self.rule("wait: 1m, every: 1h, max: 2"))
        for id in [shadow[0], live[0], shadow[1], live[1], live[2]] { try await office.put(id) }
        #expect(office.texts.count == 1)
        #expect(try await recorded(office).count == 1)
        try await office.wait(61)
        #expect(office.texts.count == 2)
    }
}
