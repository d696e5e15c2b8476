public import BellhopCore
public import ServiceLifecycle

/// The agent's loops together: poll → route → dispatch, with timers and maintenance beside them.
public struct Engine: Service {
    public let surroundings: Surroundings
    public let shelf: RuleShelf
    private let sources: [(any Source, PollPlan)]
    private let dispatcher: Dispatcher
    private let retention: Retention
    private let grace: Duration
    private let learnt: @Sendable (any Source) async -> Void
    /// Wake the pollers, by their sources' names.
    private let pollBells: [String: Bell]

    /// - Parameters:
    ///   - receivers: what a receiver takes.
    ///   - learnt: called when a source has learnt what its fields are and they are others than before, before it is polled.
    ///   - actions: who performs a delivery; nil when its receiver is no longer in the configuration.
    ///   - grace: how long attempts in flight may take to end once the agent is asked to stop.
    public init(
        _ surroundings: Surroundings, shelf: RuleShelf, sources: [(any Source, PollPlan)], limits: Dispatcher.Limits = .init(),
        retention: Retention = Retention(), grace: Duration = .seconds(20),
        receivers: @escaping @Sendable (String) -> ReceiverLimits = { _ in ReceiverLimits() },
        learnt: @escaping @Sendable (any Source) async -> Void = { _ in },
        actions: @escaping @Sendable (Delivery) -> (any Action)?
    ) {
        self.surroundings = surroundings
        self.shelf = shelf
        self.sources = sources
        self.dispatcher = Dispatcher(surroundings, limits: limits, receivers: receivers, actions: actions)
        self.retention = retention
        self.grace = grace
        self.learnt = learnt
        pollBells = Dictionary(sources.map { ($0.0.name, Bell()) }) { first, _ in first }
    }

    /// Polls a source without waiting for its turn: something changed that it was waiting for.
    public func pollNow(_ source: String) { pollBells[source]?.ring() }

    /// How many attempts are in flight.
    public var inFlight: Int { dispatcher.inFlight }

    /// What the sources have begun and not ended yet, by their names.
    public var underway: [String: SourceActivity] { surroundings.underway.all }

    /// Takes up what an earlier run left behind. To be called once, before `run` or `runOnce`.
    public func recover() async throws(StoreError) {
        let count = try await surroundings.store.rescue(everything: true, at: surroundings.clock.now)
        if count > 0 { surroundings.signals.emit(.rescued(count: count)) }
    }

    /// Runs until asked to stop: then nothing new is begun, and what is in flight is finished.
    public func run() async throws {
        let stop = StopSign()
        let bells = surroundings.bells
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    await cancelWhenGracefulShutdown { await self.begin() }
                }
                group.addTask { await self.dispatchUntil(stop) }
            }
        } onGracefulShutdown: {
            stop.raise()
            bells.dispatcher.ring()
        }
    }

    /// Everything but the dispatcher: these loops may be cancelled between two turns, and inside of a poll.
    private func begin() async {
        let router = Router(surroundings, shelf: shelf)
        let initialPolls = InitialPolls(sources.map(\.0.scope.id))
        let timers = TimerLoop(surroundings, shelf: shelf, after: initialPolls)
        let maintenance = Maintenance(
            surroundings, retention: retention, firstLeaseEnd: { [dispatcher] in dispatcher.firstLeaseEnd })
        await withDiscardingTaskGroup { group in
            group.addTask { await router.run() }
            group.addTask { await timers.run() }
            group.addTask { await maintenance.run() }
            for (source, plan) in sources {
                group.addTask {
                    await prepare(source)
                    var poller = Poller(source, plan: plan, in: surroundings, bell: pollBells[source.name] ?? Bell())
                    await poller.run { initialPolls.markPolled(source.scope.id, in: surroundings) }
                }
            }
        }
    }

    /// Lets a source learn its fields, which may take as long as its system takes to answer: nobody else waits for it.
    private func prepare(_ source: any Source) async {
        let known = source.schema
        surroundings.underway.begin(.preparing, source.name, at: surroundings.clock.now)
        defer { surroundings.underway.end(source.name) }
        await source.prepare(offline: false)
        if source.schema != known, !Task.isCancelled { await learnt(source) }
    }

    private func dispatchUntil(_ stop: StopSign) async {
        await withTaskGroup { group in
            group.addTask {
                await dispatcher.run(until: stop)
                return true
            }
            group.addTask {
                // Sleeps until cancelled, or until the grace after the stop has passed.
                try? await gracefulShutdown()
                try? await surroundings.clock.sleep(for: grace)
                return false
            }
            _ = await group.next()
            group.cancelAll()
        }
    }

    /// What one pass found.
    public struct Pass: Sendable {
        public var polls: [(source: String, outcome: PollOutcome)] = []
        public var attempts = 0
    }

    /// Polls each source once, fires what is due, routes, and makes the deliveries that can be made now.
    public func runOnce() async throws(StoreError) -> Pass {
        var pass = Pass()
        let timers = TimerLoop(surroundings, shelf: shelf)
        let router = Router(surroundings, shelf: shelf)
        // What an earlier pass left on the bus goes first.
        try await router.routePending()
        await withDiscardingTaskGroup { group in
            for (source, _) in sources { group.addTask { await prepare(source) } }
        }
        for (source, plan) in sources {
            var poller = Poller(source, plan: plan, in: surroundings)
            pass.polls.append((source.name, try await poller.pollOnce()))
            await poller.keepSuccess()
        }
        try await timers.fireDue()
        // Deliveries can cause events (a dead one), and these further deliveries.
        while true {
            let routed = try await router.routePending()
            let attempts = try await dispatcher.dispatchPending()
            pass.attempts += attempts
            if routed == 0, attempts == 0 { return pass }
        }
    }
}
