import BellhopCore
import BellhopEngine
import BellhopTesting

/// An engine that a test runs pass by pass, with its sources, and an action that records what it logs.
struct TestAgent {
    let bench: Bench
    /// The first of the sources.
    let source: ScriptedSource
    let sources: [ScriptedSource]
    let action = ScriptedAction()
    private let rules: String
    private let isRunning: Bool

    /// - Parameters:
    ///   - others: the names of further sources, which begin with the same tasks.
    ///   - isRunning: each pass belongs to one agent that keeps running, for which a failed poll does not delay timers.
    ///   - timersAtOnce: the most timers that are decided in one transaction.
    init(
        _ rules: String, _ tasks: [Snapshot] = [], others: [String] = [], isRunning: Bool = false, timersAtOnce: Int = 1000
    ) async throws {
        let bench = try Bench(timersAtOnce: timersAtOnce)
        self.bench = bench
        source = bench.source(tasks)
        let further = others.map { name in
            ScriptedSource(name, tasks: tasks, instance: "https://\(name).example", clock: bench.clock)
        }
        sources = [source] + further
        self.rules = rules
        self.isRunning = isRunning
        try await runOnce()
    }

    /// Polls, routes, fires due timers and delivers: as a new run of the agent, or as a pass of a running one.
    func runOnce(with rules: String? = nil, hours: String = "08:00-17:00", maxKeys: Int = RuleRegistration.maxKeys) async throws {
        let shelf = try await bench.shelf(rules ?? self.rules, sources: sources, hours: hours, maxKeys: maxKeys)
        if isRunning {
            for source in sources {
                var poller = Poller(source, plan: .minutely, in: bench.context)
                _ = try await poller.pollOnce()
            }
        }
        _ = try await bench.engine(action, shelf: shelf, sources: isRunning ? [] : sources).runOnce()
    }

    /// Runs a pass. Sometimes one of these calls of the store fails first, as if the agent was killed there.
    func runOnce(with rules: String? = nil, failingIn calls: [FaultyStore.Call], using random: inout SeededRandom) async throws {
        if random.oneIn(3), let call = calls.randomElement(using: &random) {
            bench.store.failOnce(call, random.oneIn(2) ? .before : .after)
            try? await runOnce(with: rules)
            bench.store.stopFailing()
        }
        try await runOnce(with: rules)
    }

    /// Lets time pass, with a pass each minute.
    func wait(_ minutes: Int, with rules: String? = nil, hours: String = "08:00-17:00") async throws {
        for _ in 0..<minutes {
            await bench.clock.advance(by: .seconds(60))
            try await runOnce(with: rules, hours: hours)
        }
    }

    /// Creates or changes a task, runs a pass, and lets time pass.
    func put(
        _ id: String, _ title: String = "printer on fire", priority: Int = 1, state: Int = 1, thenWait minutes: Int = 0
    ) async throws {
        source.put(task(id, title, ["priority": .int(Int64(priority)), "state": .int(Int64(state))]))
        try await runOnce()
        try await wait(minutes)
    }

    /// Adds a comment to a task, and runs a pass.
    func comment(_ id: String, _ text: String = "I am on it.", byUs: Bool = false) async throws {
        source.edit { state in
            state.comments.append(
                TaskComment(
                    id: "j\(state.comments.count)", task: TaskKey(id), text: text, author: byUs ? "ada" : "abel.tuter",
                    kind: "comments", time: bench.now, authorship: byUs ? .ours : .others))
        }
        try await runOnce()
    }

    func remove(_ id: String) async throws {
        source.remove(TaskKey(id))
        try await runOnce()
    }

    var texts: [String] { action.texts }

    /// The texts after these minutes, with a pass each minute.
    func texts(after minutes: Int, with rules: String? = nil, hours: String = "08:00-17:00") async throws -> [String] {
        try await wait(minutes, with: rules, hours: hours)
        return texts
    }
}
