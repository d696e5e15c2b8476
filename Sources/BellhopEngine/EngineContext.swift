public import BellhopCore
public import BellhopTelemetry
import Synchronization

/// The things that every loop of the engine needs from outside: store, clock, bells, signals.
public struct EngineContext: Sendable {
    public var store: any Store
    /// The name of this agent; several agents may share the store.
    public var node: NodeID
    public var clock: any AgentClock
    public var bells: Bells
    public var signals: Signals
    /// Keeps spans of traces; nil if nothing is traced.
    public var tracer: Tracer?
    /// The most timers that are decided in one transaction.
    package var timersAtOnce = 1000
    /// A number in 0..<1, from outside so that tests can set it.
    public var random: @Sendable () -> Double
    /// Called at each checkpoint; does nothing except in tests that stop the process there.
    public var checkpoint: @Sendable (Checkpoint) -> Void
    let unstored = UnstoredEvents()
    /// Lets one routing run at a time.
    let routing = FIFOGate()
    let readAhead = ReadAhead()
    let activities = SourceActivities()
    let silences = Silences()
    let held = HeldMessages()
    /// The silences of bellhop.yaml.
    public var silenceEntries: [SilenceEntry] = []
    let receivers = Receivers()
    let turns = LoopTurns()

    public init(
        store: any Store, node: NodeID = .only, clock: any AgentClock, bells: Bells = Bells(), signals: Signals,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        checkpoint: @escaping @Sendable (Checkpoint) -> Void = { _ in }
    ) {
        self.store = store
        self.node = node
        self.clock = clock
        self.bells = bells
        self.signals = signals
        self.random = random
        self.checkpoint = checkpoint
    }

    func report(_ event: Event) {
        signals.emit(.event(event))
        tracer?.stored(event, by: "event", from: event.time, to: clock.now)
    }

    /// How long a loop waits before it retries after a store failure.
    static let storePause = Duration.seconds(2)

    /// Reports that the store failed, and wakes every loop to look for work: the store may have committed although its answer was lost.
    func report(_ error: StoreError, doing: String) {
        signals.emit(.storeFailed(doing: doing, error))
        bells.router.ring()
        bells.dispatcher.ring()
        bells.timers.ring()
    }

    /// Waits before a retry after a store failure; returns false if the task was cancelled meanwhile.
    func pauseAfterStoreError() async -> Bool { (try? await clock.sleep(for: Self.storePause)) != nil }
}

/// The moments at which tests stop the process, to show that it loses and repeats nothing.
public enum Checkpoint: String, Sendable, Hashable, CaseIterable {
    case beforePollCommit = "before-t1"
    case afterPollCommit = "after-t1"
    case beforeRoute = "before-t2"
    case afterRoute = "after-t2"
    case beforeSilences = "before-silences"
    case afterSilences = "after-silences"
    case beforeRelease = "before-release"
    case afterRelease = "after-release"
    case beforeClaim = "before-t3"
    case afterClaim = "after-t3"
    case afterPerform = "after-perform"
    case afterFinish = "after-t4"
}

/// When each loop of the engine began its current turn. A loop whose turn does not end hangs; only a restart of the agent helps.
///
/// A class over a mutex, because every loop writes to it.
final class LoopTurns: Sendable {
    enum Loop: String, Sendable, Hashable, CaseIterable {
        case router, timers, dispatcher, maintenance
    }

    /// A loop hangs if its turn takes longer than this: even with a slow disk a turn ends sooner.
    static let longest = Duration.seconds(300)

    private let began = Mutex<[Loop: Duration]>([:])

    /// - Parameter elapsed: the time of a monotonic clock.
    func begin(_ loop: Loop, at elapsed: Duration) { began.withLock { $0[loop] = elapsed } }

    /// Call this when the loop begins to wait: for work, or after a failure for its next try.
    func end(_ loop: Loop) { began.withLock { $0[loop] = nil } }

    func hanging(at elapsed: Duration) -> [Loop] {
        began.withLock { began in Loop.allCases.filter { loop in began[loop].map { elapsed - $0 > Self.longest } ?? false } }
    }
}
