public import BellhopCore
public import ServiceLifecycle

/// The agent's loops together: poll → route → dispatch, with timers and maintenance beside them.
public struct Engine: Service {
    public let context: EngineContext
    public let shelf: RuleShelf
    private let sources: [(any Source, PollPlan)]
    private let dispatcher: Dispatcher
    private let retention: Retention
    /// How long attempts in flight may take to end after a request to stop.
    private let grace = Duration.seconds(20)
    private let onSchemaChange: @Sendable (any Source) async -> Void
    /// Bells that wake the pollers, by source name.
    private let pollBells: [String: PollBell]
    /// Lets one pause or resumption of a receiver through at a time, so that this run and the store agree.
    private let pauses = FIFOGate()

    /// - Parameters:
    ///   - receivers: the limits of a receiver.
    ///   - onSchemaChange: called before the first poll of a source if its fields or its user differ from those known before, and after a
    ///     later poll by whose login the user became known.
    ///   - actions: the action for a delivery; nil if its receiver is no longer in the configuration.
    public init(
        _ context: EngineContext, shelf: RuleShelf, sources: [(any Source, PollPlan)], limits: Dispatcher.Limits = .init(),
        retention: Retention = Retention(), receivers: @escaping @Sendable (String) -> ReceiverLimits = { _ in ReceiverLimits() },
        onSchemaChange: @escaping @Sendable (any Source) async -> Void = { _ in },
        actions: @escaping @Sendable (Delivery) -> (any Action)?
    ) {
        self.context = context
        self.shelf = shelf
        self.sources = sources
        self.dispatcher = Dispatcher(context, limits: limits, receivers: receivers, actions: actions)
        self.retention = retention
        self.onSchemaChange = onSchemaChange
        pollBells = Dictionary(sources.map { ($0.0.name, PollBell()) }) { first, _ in first }
    }

    /// Polls a source at once, because something it was waiting for has changed.
    public func pollNow(_ source: String) { pollBells[source]?.ringNow() }

    /// Polls a source as soon as its spacing and its waits allow, because its system has announced a change.
    public func pollSoon(_ source: String) { pollBells[source]?.ringSoon() }

    /// Holds back a receiver's deliveries until it is resumed; false if a person has paused it already.
    public func pause(_ stop: ReceiverStop) async throws(StoreError) -> Bool {
        await pauses.enterUncancelled()
        defer { pauses.leave() }
        guard try await context.store.pause(ReceiverPause(stop)) else { return false }
        context.receivers.pause(stop)
        context.signals.emit(.receiverPaused(stop))
        context.bells.router.ring()
        return true
    }

    /// Ends the pauses of a receiver; false if there was none.
    ///
    /// From the start of this call, attempts in flight can no longer pause the receiver; new attempts begin only when the store has
    /// ended the pauses. So a pause that the person has seen cannot come back.
    public func resume(_ receiver: String) async throws(StoreError) -> Bool {
        await pauses.enterUncancelled()
        defer { pauses.leave() }
        let now = context.clock.now
        context.receivers.ignoreEarlierRefusals(by: receiver, at: now)
        let isStored = try await context.store.resume(receiver: receiver, at: now)
        // The store lacks the pause if it failed when the receiver was paused.
        guard context.receivers.resume(receiver) || isStored else { return false }
        context.signals.emit(.receiverResumed(receiver: receiver))
        context.bells.router.ring()
        context.bells.dispatcher.ring()
        return true
    }

    /// Lets refusals of attempts that began before now pause nothing, because later attempts use the receiver's new secrets.
    public func ignoreEarlierRefusals(by receiver: String) async throws(StoreError) {
        try await context.receivers.restore(from: context.store, at: context.clock.now)
        context.receivers.ignoreEarlierRefusals(by: receiver, at: context.clock.now)
    }

    /// Applies the silences that a person added or ended. The caller has stored them.
    public func applySilences() async throws(StoreError) {
        context.silences.forget()
        if let book = shelf.book { try await context.silences.update(for: book, in: context) }
        context.bells.router.ring()
        context.bells.timers.ring()
    }

    /// The loops whose turn has lasted for minutes. Only a restart of the agent helps.
    public var hangingLoops: [String] { context.turns.hanging(at: context.clock.elapsed).map(\.rawValue) }

    /// How many attempts are in flight.
    public var inFlight: Int { dispatcher.inFlight }

    /// The unfinished activity of each source, by name.
    public var underway: [String: SourceActivity] { context.activities.all }

    /// The current notices about each source, by name.
    public var notices: [String: [String]] { context.activities.notices }

    /// Recovers what an earlier run left behind. Call once, before `run` or `runOnce`.
    /// - Parameter others: the names of the sources that are not polled.
    public func recover(besides others: [String] = []) async throws(StoreError) {
        try await endFailures(ofSourcesBesides: Set(sources.map { $0.0.name } + others))
        let count = try await context.store.start(context.node, at: context.clock.now)
        if count > 0 { context.signals.emit(.rescued(count: count)) }
    }

    /// Ends the failures of sources that were renamed or removed, so that `source_recovered` follows their `source_failing` under the same
    /// name, also if another source has this name now. A renamed source that still fails is reported under its new name.
    private func endFailures(ofSourcesBesides names: Set<String>) async throws(StoreError) {
        let now = context.clock.now
        for status in try await context.store.status(at: now).sources where status.health.announced {
            let present = sources.first { $0.0.scope.id == status.scope.id }?.0.name
            if present == status.source || present == nil && names.contains(status.source) { continue }
            var health = status.health
            (health.failures, health.failingSince, health.lastError, health.announced) = (0, nil, nil, false)
            let event = PollMachine.recovered(status.source, status.scope.id, status.health, at: now)
            try await context.store.setHealth(health, of: status.scope.id, events: [event], rest: nil)
            context.report(event)
        }
    }

    /// Runs until asked to stop; then starts nothing new and finishes what is in flight.
    ///
    /// - Throws: ``StoreError`` if outcomes could not be stored until the end.
    public func run() async throws {
        let stop = StopFlag()
        let bells = context.bells
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await cancelWhenGracefulShutdown { await self.begin() } }
                group.addTask { await self.dispatchUntil(stop) }
            }
        } onGracefulShutdown: {
            stop.raise()
            bells.dispatcher.ring()
        }
        await context.storeEventsOrDrop()
        if let error = dispatcher.unstored { throw error }
    }

    /// Runs all loops except the dispatcher. They may be cancelled between two turns, and during a poll.
    private func begin() async {
        // The maintenance prunes the store before a source that does not answer is opened.
        context.store.keepScopes(sources.map(\.0.scope.id))
        let initialPolls = InitialPolls(sources.map(\.0.scope.id), started: context.clock.now)
        let timers = TimerLoop(context, shelf: shelf, after: initialPolls)
        let router = Router(context, shelf: shelf, timers: timers)
        let maintenance = Maintenance(
            context, retention: retention, firstLeaseEnd: { [dispatcher] in dispatcher.firstLeaseEnd })
        await withDiscardingTaskGroup { group in
            group.addTask { await router.run() }
            group.addTask { await timers.run() }
            group.addTask { await maintenance.run() }
            for (source, plan) in sources {
                group.addTask {
                    await prepare(source)
                    var poller = Poller(source, plan: plan, in: context, bell: pollBells[source.name] ?? PollBell())
                    await poller.run(noting: initialPolls) { await onSchemaChange(source) }
                }
            }
        }
    }

    /// Lets a source read which fields its tasks have, and whose they are. This lasts until its system answers; only this source waits for
    /// it.
    ///
    /// - Parameter limit: how long to wait while its connection rests; if it rests for longer, the fields are not read.
    private func prepare(_ source: any Source, waitingAtMost limit: Duration = ReceiverStop.longest) async {
        let (schema, user) = (source.schema, source.user)
        // A resting connection gets no requests for fields either. The loops report failures of the store.
        try? await context.receivers.restore(from: context.store, at: context.clock.now)
        func rest() -> Duration? {
            let now = context.clock.now
            return context.receivers.rest(of: source.receiver, at: now)?.until.map { $0 - now }
        }
        while let wait = rest() {
            if wait > limit { return }
            do { try await context.clock.sleep(for: wait) } catch { return }
        }
        context.activities.begin(.preparing, source.name, at: context.clock.now)
        defer { context.activities.end(source.name) }
        await source.prepare(offline: false)
        if source.schema != schema || source.user != user, !Task.isCancelled { await onSchemaChange(source) }
    }

    private func dispatchUntil(_ stop: StopFlag) async {
        await withTaskGroup { group in
            group.addTask {
                await dispatcher.run(until: stop)
                return true
            }
            group.addTask {
                // Sleeps until cancelled, or until the grace period after a stop has passed.
                try? await gracefulShutdown()
                try? await context.clock.sleep(for: grace)
                return false
            }
            _ = await group.next()
            group.cancelAll()
        }
    }

    /// The results of one pass.
    public struct Pass: Sendable {
        public var polls: [(source: String, outcome: PollOutcome)] = []
        public var attempts = 0
    }

    /// Polls each source once, fires due timers, routes, makes the deliveries that can be made now, and at most once an hour deletes old
    /// data.
    ///
    /// - Throws: also if outcomes could not be stored until it was cancelled.
    public func runOnce() async throws(StoreError) -> Pass {
        context.store.keepScopes(sources.map(\.0.scope.id))
        var pass = Pass()
        let initialPolls = InitialPolls(started: context.clock.now)
        let timers = TimerLoop(context, shelf: shelf, after: initialPolls)
        let router = Router(context, shelf: shelf, timers: timers)
        // Route what an earlier pass left on the bus first.
        try await router.routePending()
        await withDiscardingTaskGroup { group in
            for (source, _) in sources { group.addTask { await prepare(source, waitingAtMost: Dispatcher.maxFinalWait) } }
        }
        for (source, var plan) in sources {
            plan.isRepeated = false
            var poller = Poller(source, plan: plan, in: context)
            let outcome = try await poller.pollOnce()
            if !outcome.isGood { initialPolls.wait(for: source.scope.id, since: poller.failingSince ?? context.clock.now) }
            pass.polls.append((source.name, outcome))
            await poller.storeSuccess()
        }
        // Route the events of these polls before the timers that waited for the polls.
        try await router.routePending()
        try await timers.fireDue()
        // Deliveries can cause events (`delivery_dead`), and these can cause deliveries.
        while true {
            await context.storeEventsOrDrop()
            let routed = try await router.routePending()
            let attempts = try await dispatcher.dispatchPending()
            if let error = dispatcher.unstored { throw error }
            pass.attempts += attempts
            // A delivery that has expired ends without an attempt, and causes an event, too.
            if routed == 0, attempts == 0, try await router.routePending() == 0 { break }
        }
        do throws(StoreError) {
            try await Maintenance(context, retention: retention).pruneIfDue()
        } catch {
            // The next pass tries again; this one has done its work.
            context.report(error, doing: "maintaining the store")
        }
        return pass
    }
}
