import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// Random histories of tasks, passes, downtime and store failures: rules that wait make the runs of a model, each once.
@Suite(.timeLimit(.minutes(10))) struct `Random histories of rules that wait` {
    /// The calls of the store that fail at random.
    private static let calls: [FaultyStore.Call] = [
        .commit, .route, .unrouted, .state, .nextTimer, .dueTimers, .register, .remembered, .nextRelease, .released, .release,
    ]

    @Test(arguments: 0..<UInt64(RandomRuns.count(120)))
    func `each history makes the runs of the model`(_ seed: UInt64) async throws {
        var random = SeededRandom(seed: RandomRuns.seed(seed))
        // In half of them a batch has two timers, and the facts of the next batch are read while these are stored.
        let agent = try await TestAgent(
            WaitingModel.plainRules, [task("always", "x", ["priority": 9])], timersAtOnce: seed.isMultiple(of: 2) ? 1000 : 2)
        var (model, quiet) = (WaitingModel(), QuietModel())
        var gone: Set<String> = []
        var minute = 0
        var story: [String] = []
        for _ in 0..<40 {
            let pause = random.oneIn(5) ? Int.random(in: 2...12, using: &random) : Int.random(in: 0...1, using: &random)
            if pause > 0 {
                minute += pause
                await agent.bench.clock.advance(by: .seconds(60 * pause))
            }
            if let (kind, id, priority) = agent.changeRandomTask(of: model.tasks, gone: &gone, "title \(story.count)", &random) {
                model.beforeChanges(at: minute)
                model.apply(kind, id, priority, at: minute)
                quiet.apply(kind, id, priority, at: minute)
            }
            model.afterChanges(at: minute)
            quiet.afterChanges(at: minute)
            story.append("\(minute): \(model.tasks.sorted { $0.key < $1.key }.map { "\($0.key)\($0.value)" })")
            try await agent.runOnce(failingIn: Self.calls, using: &random)
            let (made, expected) = (agent.texts.sorted(), (model.log + quiet.log).sorted())
            guard made == expected else {
                let (lost, surplus) = (expected.difference(from: made).insertions, made.difference(from: expected).insertions)
                let days = story.suffix(16).joined(separator: "\n")
                Issue.record("seed \(RandomRuns.seed(seed)): lost \(lost), surplus \(surplus)\n\(days)")
                return
            }
        }
    }
}
