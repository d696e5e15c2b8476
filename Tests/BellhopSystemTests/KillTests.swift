import BellhopCore
import BellhopTesting
import Simulator
import Testing

/// The real program, ended as by `kill -9`, again and again, while tasks appear, change and leave on an instance that keeps
/// running. Then it runs undisturbed, and nothing may be lost or doubled. 8 × 14 kills are made at checkpoints, 2 × 18 and 12 at
/// random moments, 2 × 24 with faults: 208 in all. A run that ends before its kill does not count.
@Suite(.timeLimit(.minutes(15)), .closing) struct KillTests {
    /// The checkpoints for kills: before and after each transaction, and after the outgoing request.
    static let checkpoints = [
        "before-t1", "after-t1", "before-t2", "after-t2", "before-t3", "after-t3", "after-perform", "after-t4",
    ]

    @Test(arguments: checkpoints)
    func `an agent that is killed repeatedly at a checkpoint loses and doubles nothing`(_ checkpoint: String) async throws {
        let stage = try await Stage.set(rules: Ledger.rules)
        var ordeal = Ordeal(stage, seed: RandomRuns.seed(1))
        try await ordeal.kill(14, passingEvery: 5) { ordeal, round in
            try await ordeal.kill(at: checkpoint, nth: 1 + (checkpoint.hasSuffix("t1") ? 0 : round % 3))
        }
        try await ordeal.end()
    }

    @Test(arguments: [2, 3]) func `an agent that is killed at any moment loses and doubles nothing`(_ seed: UInt64) async throws {
        let stage = try await Stage.set(rules: Ledger.rules)
        var ordeal = Ordeal(stage, seed: RandomRuns.seed(seed))
        try await ordeal.kill(18, passingEvery: 5) { ordeal, _ in try await ordeal.killAtAnyMoment() }
        try await ordeal.end()
    }

    @Test func `an agent killed at any moment while it watches loses and doubles nothing`() async throws {
        let stage = try await Stage.set(rules: Ledger.rules)
        var ordeal = Ordeal(stage, seed: RandomRuns.seed(4))
        for _ in 1...12 { try await ordeal.killWhileItWatches() }
        #expect(ordeal.kills == 12)
        try await ordeal.end()
    }

    @Test(arguments: [5, 6])
    func `an agent that is killed while requests fail at random loses and doubles nothing`(_ seed: UInt64) async throws {
        let stage = try await Stage.set(rules: Ledger.rules)
        for (fault, probability) in Self.weather {
            stage.simulation.faults.add(FaultRule(fault, method: "POST", path: "/api", times: nil, probability: probability))
            // 202 is success for a webhook.
            if fault != .accepted {
                stage.simulation.faults.add(FaultRule(fault, path: "/webhook", times: nil, probability: probability))
            }
            stage.simulation.faults.add(FaultRule(fault, path: "/api", times: nil, probability: probability / 10))
        }
        var ordeal = Ordeal(stage, seed: RandomRuns.seed(seed))
        try await ordeal.kill(24, passingEvery: 5) { ordeal, round in
            if round % 3 == 0 {
                try await ordeal.killAtAnyMoment()
            } else {
                try await ordeal.kill(at: Self.checkpoints[round % 8], nth: 1 + round % 2)
            }
        }
        // How many depends on the history.
        #expect(stage.simulation.faults.struck > 0)
        stage.simulation.faults.removeAll()
        try await ordeal.end()
    }

    /// The faults of writing requests, with their probabilities.
    private static let weather: [(Fault, Double)] = [
        (.resetAfter, 0.15), (.resetBefore, 0.1), (.badGateway, 0.08), (.accepted, 0.05), (.cutBody, 0.05),
        (.internalError, 0.05), (.tooManyRequests(.seconds(5)), 0.05), (.slow(milliseconds: 60), 0.1),
    ]
}
