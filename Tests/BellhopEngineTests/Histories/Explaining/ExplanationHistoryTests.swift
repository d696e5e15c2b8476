import BellhopRules
import BellhopTesting
import Testing

/// Random histories of an agent with restarts, downtime and reloads: explanations agree with models.
@Suite(.timeLimit(.minutes(10))) struct `Explanations of random histories` {
    @Test(arguments: 0..<UInt64(RandomRuns.count(40)))
    func `explain agrees with a model about rules that wait, count and gather`(_ seed: UInt64) async throws {
        var history = try await ExplainedHistory<WaitingExplanationModel>(seed: RandomRuns.seed(seed))
        try await history.run(steps: 40)
    }

    @Test(arguments: 0..<UInt64(RandomRuns.count(40)))
    func `explain agrees with a model about conditions, sources, fields, throttle, once and modes`(_ seed: UInt64) async throws {
        var history = try await ExplainedHistory<PlainExplanationModel>(seed: RandomRuns.seed(seed), others: ["elsewhere"])
        try await history.run(steps: 40)
    }

    @Test(arguments: 0..<UInt64(RandomRuns.count(40)))
    func `explain agrees with a model about rules for several events, absences and escalations`(_ seed: UInt64) async throws {
        var history = try await ExplainedHistory<PatternExplanationModel>(seed: RandomRuns.seed(seed))
        try await history.run(steps: 40)
    }

    @Test(arguments: 0..<UInt64(RandomRuns.count(40)))
    func `explain agrees with a model about replayed events`(_ seed: UInt64) async throws {
        var history = try await ExplainedHistory<ReplayExplanationModel>(seed: RandomRuns.seed(seed))
        try await history.run(steps: 40)
    }

    @Test(arguments: 0..<UInt64(RandomRuns.count(40)))
    func `explain agrees with a model about replays that are counted and gathered`(_ seed: UInt64) async throws {
        var history = try await ExplainedHistory<ReplayedCountModel>(seed: RandomRuns.seed(seed))
        try await history.run(steps: 40)
    }

    @Test(arguments: 0..<UInt64(RandomRuns.count(40)))
    func `explain agrees with a model about counts and groups after waits, and about runs without a step`(
        _ seed: UInt64
    ) async throws {
        var history = try await ExplainedHistory<ChainExplanationModel>(seed: RandomRuns.seed(seed))
        try await history.run(steps: 40)
    }

    @Test(arguments: 0..<UInt64(RandomRuns.count(40)))
    func `explain agrees with a model about events that rules emit`(_ seed: UInt64) async throws {
        var history = try await ExplainedHistory<EmitExplanationModel>(seed: RandomRuns.seed(seed))
        try await history.run(steps: 40)
    }

    @Test(arguments: 0..<UInt64(RandomRuns.count(40)))
    func `explain agrees with a model about schedules and lists`(_ seed: UInt64) async throws {
        var history = try await ExplainedHistory<ScheduleExplanationModel>(seed: RandomRuns.seed(seed))
        try await history.run(steps: 40)
    }

    @Test(arguments: 0..<UInt64(RandomRuns.count(40)))
    func `explain agrees with a model about rules that reloads change, turn off, remove and add again`(
        _ seed: UInt64
    ) async throws {
        var history = try await ExplainedHistory<ReloadExplanationModel>(seed: RandomRuns.seed(seed))
        try await history.run(steps: 40)
    }

    @Test(arguments: 0..<UInt64(RandomRuns.count(40)))
    func `explain agrees with a model about lists whose elements wait, and the silence of a source`(_ seed: UInt64) async throws {
        var history = try await ExplainedHistory<ListWaitExplanationModel>(seed: RandomRuns.seed(seed))
        try await history.run(steps: 40)
    }
}
