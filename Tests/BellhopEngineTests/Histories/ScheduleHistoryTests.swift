import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// Random histories of tasks, passes, downtime, failures of source and store, reloads and clock changes: rules with schedules or
/// state make the runs of a model, each once.
@Suite(.timeLimit(.minutes(10))) struct `Random histories of schedules and rule state` {
    private static let calls: [FaultyStore.Call] = [
        .commit, .route, .unrouted, .state, .nextTimer, .dueTimers, .register, .remembered, .tasks, .events,
    ]

    @Test(arguments: 0..<UInt64(RandomRuns.count(200)))
    func `each history makes the runs of the model`(_ seed: UInt64) async throws {
        var random = SeededRandom(seed: RandomRuns.seed(seed))
        var rules = ScheduleRules()
        let agent = try await TestAgent(
            rules.yaml, [task("always", "x", ["priority": 9]), task("z", "x", ["priority": 1]), task("a", "x", ["priority": 2])],
            timersAtOnce: seed.isMultiple(of: 2) ? 1000 : 2)
        var model = ScheduleModel(["always": 9, "z": 1, "a": 2])
        var (gone, minute): (Set<String>, Int) = ([], 0)
        var story: [String] = []
        for number in 0..<30 {
            let passed = await agent.passRandomTime(&random)
            minute += passed
            if passed < 0 { story.append("the clock is set back by \(-passed)") }
            if random.oneIn(6), let letter = ScheduleRules.letters.randomElement(using: &random) {
                let change = rules.change(letter, Int.random(in: 0...2, using: &random))
                model.load(change, at: minute)
                story.append("\(change)")
            }
            if random.oneIn(10) || model.isFailing && random.oneIn(2) {
                let failure = Failure(.gateway, .retry(after: nil), "502 Bad Gateway")
                agent.source.edit { $0.lists = [.failure(failure)] }
                model.fail(at: minute)
                story.append("\(minute): the source fails")
                try await agent.runOnce(with: rules.yaml)
            } else {
                let change = change(in: model, gone, &random)
                if let change {
                    if change.kind == .removed {
                        agent.source.remove(TaskKey(change.id))
                        gone.insert(change.id)
                    } else {
                        // A title that was never there makes it a change.
                        agent.source.put(task(change.id, "title \(number)", ["priority": .int(Int64(change.priority))]))
                    }
                }
                model.poll(at: minute, change)
                story.append("\(minute): \(change.map { "\($0.kind) \($0.id) \($0.priority)" } ?? "nothing")")
                try await agent.runOnce(with: rules.yaml, failingIn: Self.calls, using: &random)
            }
            guard let difference = agent.difference(from: model.log) else { continue }
            Issue.record("seed \(RandomRuns.seed(seed)): \(difference)\n\(story.suffix(24).joined(separator: "\n"))")
            return
        }
    }

    private func change(in model: ScheduleModel, _ gone: Set<String>, _ random: inout SeededRandom) -> ScheduleModel.Change? {
        guard let id = ["a", "b", "c", "z"].randomElement(using: &random), !random.oneIn(3) else { return nil }
        let priority = Int.random(in: 1...2, using: &random)
        guard let before = model.tasks[id] else {
            return ScheduleModel.Change(kind: gone.contains(id) ? .returned : .created, id: id, priority: priority)
        }
        return random.oneIn(4)
            ? ScheduleModel.Change(kind: .removed, id: id, priority: before)
            : ScheduleModel.Change(kind: .changed, id: id, priority: priority)
    }
}
