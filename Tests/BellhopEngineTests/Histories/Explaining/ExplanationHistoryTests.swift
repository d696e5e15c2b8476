import BellhopRules
import BellhopTesting
import Testing

/// Random histories of an agent with restarts, downtime and reloads: explanations agree with models.
@Suite(.timeLimit(.minutes(10))) struct `Explanations of random histories` {
    private static let seeds = 0..<UInt64(RandomRuns.count(40))

    @Test(arguments: seeds)
    func `explain agrees with a model about waits by a key, distinct counts, and groups`(_ seed: UInt64) async throws {
        try await ExplainedHistory<WaitingExplanationModel>.check(seed)
    }

    @Test(arguments: seeds)
    func `explain agrees with a model about conditions, sources, fields, throttle, once and modes`(_ seed: UInt64) async throws {
        try await ExplainedHistory<PlainExplanationModel>.check(seed, others: ["elsewhere"])
    }

    @Test(arguments: seeds)
    func `explain agrees with a model about rules for several events, absences and escalations`(_ seed: UInt64) async throws {
        try await ExplainedHistory<PatternExplanationModel>.check(seed)
    }

    @Test(arguments: seeds) func `explain agrees with a model about replayed events`(_ seed: UInt64) async throws {
        try await ExplainedHistory<ReplayExplanationModel>.check(seed)
    }

    @Test(arguments: seeds)
    func `explain agrees with a model about replays that are counted and gathered`(_ seed: UInt64) async throws {
        try await ExplainedHistory<ReplayedCountModel>.check(seed)
    }

    @Test(arguments: seeds)
    func `explain agrees with a model about counts and groups after waits, and about runs without a step`(
        _ seed: UInt64
    ) async throws {
        try await ExplainedHistory<ChainExplanationModel>.check(seed)
    }

    @Test(arguments: seeds) func `explain agrees with a model about events that rules emit`(_ seed: UInt64) async throws {
        try await ExplainedHistory<EmitExplanationModel>.check(seed)
    }

    @Test(arguments: seeds) func `explain agrees with a model about schedules and lists`(_ seed: UInt64) async throws {
        try await ExplainedHistory<ScheduleExplanationModel>.check(seed)
    }

    @Test(arguments: seeds)
    func `explain agrees with a model about rules that reloads change, turn off, remove and add again`(
        _ seed: UInt64
    ) async throws {
        try await ExplainedHistory<ReloadExplanationModel>.check(seed)
    }

    @Test(arguments: seeds)
    func `explain agrees with a model about lists whose elements wait, and the silence of a source`(_ seed: UInt64) async throws {
        try await ExplainedHistory<ListWaitExplanationModel>.check(seed)
    }
}
