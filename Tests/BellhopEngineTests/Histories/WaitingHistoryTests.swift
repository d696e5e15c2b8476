import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// Random histories of tasks, passes, downtime and store failures: rules that wait make the runs of a model, each once.
@Suite(.timeLimit(.minutes(10))) struct `Random histories of rules that wait` {
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
            minute += await agent.passRandomTime(setsBack: false, &random)
            if let (kind, id, priority) = agent.changeRandomTask(of: model.tasks, gone: &gone, "title \(story.count)", &random) {
                model.beforeChanges(at: minute)
                model.apply(kind, id, priority, at: minute)
                quiet.apply(kind, id, priority, at: minute)
            }
            model.afterChanges(at: minute)
            quiet.afterChanges(at: minute)
            story.append("\(minute): \(model.tasks.sorted { $0.key < $1.key }.map { "\($0.key)\($0.value)" })")
            try await agent.runOnce(failingIn: Self.calls, using: &random)
            guard let difference = agent.difference(from: model.log + quiet.log) else { continue }
            Issue.record("seed \(RandomRuns.seed(seed)): \(difference)\n\(story.suffix(16).joined(separator: "\n"))")
            return
        }
    }
}
