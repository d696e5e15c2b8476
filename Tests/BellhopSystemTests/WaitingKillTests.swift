import BellhopCore
import BellhopTesting
import Simulator
import Testing

/// The real program with all kinds of rules that wait together, killed between any two transactions and at any moment. Each run
/// happens exactly once, and none is early.
@Suite(.timeLimit(.minutes(15)), .closing) struct WaitingKillTests {
    private static func configuration(_ address: String) -> String {
        let team = "  team: {kind: slack, url: \"${{ env.CHAT_URL }}\", rate: 1000/s}\nsources:"
        return Stage.configuration(address, extra: WaitingLedger.silences).replacing("sources:", with: team)
    }

    @Test(arguments: Checkpoints.all)
    func `rules that wait run exactly once and never early, even if the agent is killed repeatedly at a checkpoint`(
        _ checkpoint: String
    ) async throws {
        let stage = try await Stage.set(rules: WaitingLedger.rules, configuration: Self.configuration)
        addStandingTasks(stage)
        var ordeal = Ordeal(stage, seed: RandomRuns.seed(11))
        try await ordeal.kill(12, passingEvery: 4) { ordeal, round in
            if round == 5 { try stage.folder.write("rules/standing.yaml", WaitingLedger.standingRule) }
            try await ordeal.kill(at: checkpoint, nth: 1 + (Checkpoints.isRare(checkpoint) ? 0 : round % 3))
        }
        try await end(&ordeal)
    }

    @Test func `rules that wait run exactly once and never early, even if the agent is killed at any moment`() async throws {
        let stage = try await Stage.set(rules: WaitingLedger.rules, configuration: Self.configuration)
        addStandingTasks(stage)
        var ordeal = Ordeal(stage, seed: RandomRuns.seed(12))
        try await ordeal.kill(20, passingEvery: 4) { ordeal, round in
            if round == 5 { try stage.folder.write("rules/standing.yaml", WaitingLedger.standingRule) }
            try await ordeal.killAtAnyMoment()
        }
        try await end(&ordeal)
    }

    /// Adds tasks that never change.
    private func addStandingTasks(_ stage: Stage) {
        for place in 5...6 { stage.instance.addTask("problem", title: "Standing task \(place)", assignedTo: Stage.user) }
    }

    private func end(_ ordeal: inout Ordeal) async throws {
        try await ordeal.addLastingTask()
        try await ordeal.end { ordeal in
            let runs = try await WaitingLedger(ordeal).check()
            #expect(runs > 12)
        }
    }

    private enum Checkpoints {
        static let all = KillTests.checkpoints + ["before-silences", "after-silences"]

        /// Whether a pass reaches the checkpoint only once.
        static func isRare(_ checkpoint: String) -> Bool { checkpoint.hasSuffix("t1") || checkpoint.hasSuffix("silences") }
    }
}
