public import BellhopCore

/// Polls one source: one poll at a time, each kept whole or not at all (T1).
public struct Poller: Sendable {
    public let source: any Source
    let surroundings: Surroundings
    let plan: PollPlan
    /// What the store remembers; nil until it was asked, and again after another poll was kept first.
    private var memory: SourceMemory?
    /// When a source whose latest poll failed is polled again; nil while polls work.
    var retryAt: Timestamp?
    /// What was told last, without its numbers.
    var toldNotice: String?

    public init(_ source: any Source, plan: PollPlan, in surroundings: Surroundings) {
        self.source = source
        self.plan = plan
        self.surroundings = surroundings
    }

    /// Polls on the plan's cadence until the task is cancelled.
    /// - Parameter looked: called once, when the first poll has ended, well or not.
    public mutating func run(looked: @Sendable () -> Void = {}) async {
        var wasBusy = true
        var isFirst = true
        while !Task.isCancelled {
            let started = surroundings.clock.now
            var next: Timestamp
            do {
                switch try await pollOnce() {
                case .changed, .baseline: wasBusy = true
                case .unchanged: wasBusy = false
                case .held, .superseded, .failed: break
                }
                next = retryAt ?? nextPoll(after: started, wasBusy: wasBusy)
            } catch {
                surroundings.signals.emit(.storeFailed(doing: "keeping a poll of \(source.name)", error))
                // Where the source was asked, it is not asked again sooner than on its cadence because our store has trouble.
                next = memory == nil ? started + Surroundings.storePause : nextPoll(after: started, wasBusy: wasBusy)
                memory = nil
            }
            if isFirst { looked() }
            isFirst = false
            guard await rest(until: next) else { return }
        }
    }

    /// One poll, from asking to keeping.
    public mutating func pollOnce() async throws(StoreError) -> PollOutcome {
        let started = ContinuousClock.now
        var memory = try await remembering()
        retryAt = nil
        do throws(Trouble) {
            let outcome = try await poll(&memory, started: started)
            if case .superseded = outcome {
                self.memory = nil
                surroundings.signals.emit(.pollSuperseded(source: source.name))
            } else {
                self.memory = memory
            }
            return outcome
        } catch {
            switch error {
            case .store(let error): throw error
            case .source(let failure):
                if Task.isCancelled { return .failed(failure) }
                try await note(failure, in: &memory)
                self.memory = memory
                return .failed(failure)
            }
        }
    }

    private mutating func remembering() async throws(StoreError) -> SourceMemory {
        if let memory { return memory }
        let memory = try await surroundings.store.open(source.scope, source: source.name, at: surroundings.clock.now)
        self.memory = memory
        return memory
    }

    // MARK: - One poll

    private mutating func poll(
        _ memory: inout SourceMemory, started: ContinuousClock.Instant
    ) async throws(Trouble) -> PollOutcome {
        let began = surroundings.clock.now
        var answer = try await list(after: memory.cursor)
        // Where the clock was set back, nobody can say how old the details are.
        if let latest = memory.health.lastSuccess, latest > began { memory.known.age(readAfter: began) }
        let age = plan.refresh.age(tasks: memory.known.count)
        let stale = memory.known.stale(before: age == .zero ? .distantFuture : began - age, limit: plan.refresh.batch)
        if memory.hasBaseline, memory.answer == answer.fingerprint, memory.health.held == nil, stale.isEmpty {
            try await recover(&memory, began: began)
            surroundings.signals.emit(.unchanged(source: source.name, tasks: memory.known.count, took: .now - started))
            return .unchanged
        }
        var comparison = memory.known.compare(with: answer.listing)
        var verdict = judge(memory, answer.listing, comparison, isSecondReading: false)
        if case .readAgain = verdict {
            answer = try await list(after: memory.cursor)
            comparison = memory.known.compare(with: answer.listing)
            verdict = judge(memory, answer.listing, comparison, isSecondReading: true)
        }
        if case .hold(let held) = verdict { return try await hold(held, comparison, &memory) }
        return try await keep(answer, comparison, stale: stale, &memory, began: began, started: started)
    }

    private func list(after cursor: Cursor?) async throws(Trouble) -> Answer {
        try await asking { source throws(Failure) in try await source.list(after: cursor) }
    }

    private func judge(
        _ memory: SourceMemory, _ listing: Listing, _ comparison: Comparison, isSecondReading: Bool
    ) -> StormGuard.Decision {
        StormGuard().decide(
            known: memory.known, listing: listing, comparison: comparison, previous: memory.health.held,
            isSecondReading: isSecondReading, isBaseline: !memory.hasBaseline)
    }

    private mutating func keep(
        _ answer: Answer, _ comparison: Comparison, stale: [TaskKey], _ memory: inout SourceMemory, began: Timestamp,
        started: ContinuousClock.Instant
    ) async throws(Trouble) -> PollOutcome {
        let order = ReadingOrder(answer.listing, comparison, stale: stale)
        var details = Details()
        if !order.keys.isEmpty || !comparison.gone.isEmpty {
            details = try await asking { source throws(Failure) in
                try await source.details(of: order.keys + comparison.gone, in: answer.listing)
            }
            tell(details.notice)
        }

        var readings = order.readings(details, known: memory.known)
        let evidence = try await gather(readings, gone: comparison.gone, details, memory, began: began)
        readings = readings.map {
            $0.completed(by: evidence.remembered[$0.key]?.snapshot, content: memory.known[$0.key]?.content)
        }
        let reconciliation = Reconciliation(evidence, readings)
        let health = SourceHealth(lastSuccess: began)
        var events = reconciliation.events
        if memory.health.announced { events.append(recovered(memory.health, at: evidence.now)) }
        // An answer with a task in it that could not be read is not remembered: the next one is looked at whatever it says.
        let seen = readings.count == order.keys.count ? answer.fingerprint : nil
        let isQuiet =
            memory.hasBaseline && reconciliation.present.isEmpty && reconciliation.removed.isEmpty && events.isEmpty
            && memory.health.failures == 0 && memory.health.held == nil
        if !isQuiet || memory.answer != seen || memory.cursor != answer.cursor {
            let commit = PollCommit(
                scope: source.scope.id, source: source.name, expectedTurn: memory.turn, at: evidence.now, cursor: answer.cursor,
                answer: seen, present: reconciliation.present, removed: reconciliation.removed, events: events, health: health)
            surroundings.checkpoint(.beforePollCommit)
            let result = try await storing { store throws(StoreError) in try await store.commit(commit) }
            surroundings.checkpoint(.afterPollCommit)
            guard case .committed(let turn, _) = result else { return .superseded }
            memory.turn = turn
        }
        let isBaseline = !memory.hasBaseline
        memory.known.take(readings, at: evidence.now)
        memory.known.remove(comparison.gone)
        memory.hasBaseline = true
        memory.answer = seen
        memory.cursor = answer.cursor
        memory.health = health
        return report(isBaseline: isBaseline, events: events, tasks: memory.known.count, took: .now - started)
    }

    private func gather(
        _ readings: [Reading], gone: [TaskKey], _ details: Details, _ memory: SourceMemory, began: Timestamp
    ) async throws(Trouble) -> Reconciliation.Evidence {
        let scope = source.scope
        let asked = readings.lazy.filter { !$0.isAsKept }.map(\.key) + gone
        let remembered =
            asked.isEmpty
            ? [:] : try await storing { store throws(StoreError) in try await store.remembered(asked, in: scope.id) }
        // What a task shows now may come from what was written to it since it was looked at before.
        var since = min(memory.health.lastSuccess ?? .distantPast, began)
        for reading in readings where reading.wasStale && !reading.isAsKept {
            since = min(since, memory.known[reading.key]?.refreshed ?? .distantPast)
        }
        let subjects = remembered.keys.map { scope.subject(of: $0) }
        let writes =
            subjects.isEmpty
            ? [:] : try await storing { store throws(StoreError) in try await store.writes(to: subjects, since: since) }
        return Reconciliation.Evidence(
            source: source.name, scope: scope, now: surroundings.clock.now, hasBaseline: memory.hasBaseline,
            emitsInitial: plan.emitsInitial, details: details, remembered: remembered, gone: gone, writes: writes)
    }

    private func report(isBaseline: Bool, events: [Event], tasks: Int, took: Duration) -> PollOutcome {
        let signals = surroundings.signals
        if isBaseline { signals.emit(.baseline(source: source.name, tasks: tasks)) }
        if isBaseline || !events.isEmpty {
            signals.emit(.polled(source: source.name, tasks: tasks, events: events.count, took: took))
        } else {
            signals.emit(.unchanged(source: source.name, tasks: tasks, took: took))
        }
        announce(events)
        if isBaseline { return .baseline(tasks: tasks) }
        return events.isEmpty ? .unchanged : .changed(events: events.count)
    }
}
