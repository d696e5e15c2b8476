import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// Random histories of tasks, passes, downtime, store failures, reloads and clock changes: rules that wait make the runs of a model,
/// each once.
@Suite(.timeLimit(.minutes(10))) struct `Random histories of waiting rules with reloads` {
    private static let calls: [FaultyStore.Call] = [
        .commit, .route, .unrouted, .state, .nextTimer, .dueTimers, .register, .remembered,
    ]

    @Test(arguments: 0..<UInt64(RandomRuns.count(120)))
    func `each history makes the runs of the model`(_ seed: UInt64) async throws {
        var random = SeededRandom(seed: RandomRuns.seed(seed))
        let agent = try await TestAgent(WaitingModel.rules(), [task("always", "x", ["priority": 9])])
        var model = WaitingModel()
        var gone: Set<String> = []
        let start = agent.bench.now
        var minute = 0
        var rules = WaitingModel.rules()
        var versions: [String: WaitingModel.Version] = [:]
        var story: [String] = []
        for _ in 0..<40 {
            let passed = await agent.passRandomTime(&random)
            minute += passed
            if passed < 0 { story.append("the clock is set back by \(-passed)") }
            if random.oneIn(6) {
                let letter = WaitingModel.letters[Int.random(in: 0..<WaitingModel.letters.count, using: &random)]
                var version = versions[letter] ?? WaitingModel.Version()
                var restarted: Set<String> = []
                switch Int.random(in: 0...3, using: &random) {
                case 0, 1: version.action += 1
                case 2:
                    version.condition += 1
                    restarted = [letter]
                default: version.isPresent.toggle()
                }
                versions[letter] = version
                rules = WaitingModel.rules(versions)
                model.load(versions, restarted: restarted, at: minute)
                story.append("\(letter) is now \(version)")
            }
            if let (kind, id, priority) = agent.changeRandomTask(of: model.tasks, gone: &gone, "title \(story.count)", &random) {
                model.beforeChanges(at: minute)
                model.apply(kind, id, priority, at: minute)
            }
            model.afterChanges(at: minute)
            story.append("\(minute): \(model.tasks.sorted { $0.key < $1.key }.map { "\($0.key)\($0.value)" })")
            try await agent.runOnce(with: rules, failingIn: Self.calls, using: &random)
            guard let difference = agent.difference(from: model.log) else { continue }
            let timers = try await agent.bench.store.dueTimers(at: .distantFuture, limit: 100).map {
                "\($0.id.rule) \($0.id.kind) \($0.id.key) \(($0.due - start).components.seconds / 60)"
            }
            let days = (story.suffix(24) + ["timers: \(timers)"]).joined(separator: "\n")
            Issue.record("seed \(RandomRuns.seed(seed)): \(difference)\n\(days)")
            return
        }
    }
}
