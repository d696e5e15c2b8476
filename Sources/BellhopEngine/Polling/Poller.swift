public import BellhopCore

/// Polls one source: one poll at a time, each kept whole or not at all (T1).
public struct Poller: Sendable {
    public let source: any Source
    let surroundings: Surroundings
    let plan: PollPlan
    /// What the store remembers; nil until it was asked, and again after another poll was kept first.
    private var memory: SourceMemory?
    var toldNotice: String?

    public init(_ source: any Source, plan: PollPlan, in surroundings: Surroundings) {
        self.source = source
        self.plan = plan
        self.surroundings = surroundings
    }

    /// Polls on the plan's cadence until the task is cancelled or the sign goes up.
    public mutating func run(until stop: StopSign = StopSign()) async {
        var wasBusy = true
        while !Task.isCancelled, !stop.isUp {
            let started = surroundings.clock.now
            var next: Timestamp
            do {
                let outcome = try await pollOnce()
                switch outcome {
                case .changed, .baseline: wasBusy = true
                case .unchanged: wasBusy = false
                case .held, .superseded, .failed: break
                }
                next = nextPoll(
                    after: outcome, started: started, wasBusy: wasBusy, failures: memory?.health.failures ?? 0)
            } catch {
                surroundings.signals.emit(.storeFailed(doing: "keeping a poll of \(source.name)", error))
                memory = nil
                guard await surroundings.pauseAfterStoreError() else { return }
                next = surroundings.clock.now
            }
            next = max(next, surroundings.clock.now)
            guard (try? await surroundings.clock.sleep(until: next)) != nil else { return }
        }
    }

    /// One poll, from asking to keeping.
    public mutating func pollOnce() async throws(StoreError) -> PollOutcome {
        let started = ContinuousClock.now
        var memory = try await remembering()
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

    private func remembering() async throws(StoreError) -> SourceMemory {
        if let memory { return memory }
        return try await surroundings.store.open(source.scope, source: source.name, at: surroundings.clock.now)
    }

    // MARK: - One poll

    private mutating func poll(
        _ memory: inout SourceMemory, started: ContinuousClock.Instant
    ) async throws(Trouble) -> PollOutcome {
        var answer = try await asking { source throws(Failure) in
            try await source.list(after: memory.cursor)
        }
        let now = surroundings.clock.now
        let age = plan.refresh.age(tasks: memory.known.count)
        let stale = memory.known.stale(before: age == .zero ? .distantFuture : now - age, limit: plan.refresh.batch)
        if memory.hasBaseline, memory.answer == answer.fingerprint, memory.health.held == nil, stale.isEmpty {
            try await recover(&memory)
            surroundings.signals.emit(.unchanged(source: source.name, tasks: memory.known.count, took: .now - started))
            return .unchanged
        }
        var comparison = memory.known.compare(with: answer.listing)
        var verdict = judge(memory, answer.listing, comparison, isSecondReading: false)
        if case .readAgain = verdict {
            answer = try await asking { source throws(Failure) in
                try await source.list(after: memory.cursor)
            }
            comparison = memory.known.compare(with: answer.listing)
            verdict = judge(memory, answer.listing, comparison, isSecondReading: true)
        }
        if case .hold(let held) = verdict { return try await hold(held, comparison, &memory) }
        return try await keep(answer, comparison, stale: stale, &memory, started: started)
    }

    private func judge(
        _ memory: SourceMemory, _ listing: Listing, _ comparison: Comparison, isSecondReading: Bool
    ) -> StormGuard.Decision {
        StormGuard().decide(
            known: memory.known, listing: listing, comparison: comparison, previous: memory.health.held,
            isSecondReading: isSecondReading, isBaseline: !memory.hasBaseline)
    }

    private mutating func keep(
        _ answer: Answer, _ comparison: Comparison, stale: [TaskKey], _ memory: inout SourceMemory,
        started: ContinuousClock.Instant
    ) async throws(Trouble) -> PollOutcome {
        let listing = answer.listing
        let fresh = comparison.new.map { listing.entries[$0].key }
        let altered = comparison.changed.map { listing.entries[$0].key }
        let gone = Set(comparison.gone)
        let seen = Set(fresh).union(altered)
        let reread = stale.filter { !seen.contains($0) && !gone.contains($0) }
        let order = fresh + altered + reread
        let details =
            order.isEmpty && gone.isEmpty
            ? Details()
            : try await asking { source throws(Failure) in
                try await source.details(of: order + comparison.gone, in: listing)
            }
        tell(details.notice)

        let evidence = try await gather(order, listing, comparison, details, memory)
        let reconciliation = Reconciliation(evidence, order: order.filter { needsKeeping($0, details, memory) })
        let now = evidence.now
        let health = SourceHealth(lastSuccess: now)
        var events = reconciliation.events
        if memory.health.announced { events.append(recovered(memory.health, at: now)) }
        let isQuiet =
            memory.hasBaseline && reconciliation.present.isEmpty && reconciliation.removed.isEmpty && events.isEmpty
            && memory.health.failures == 0 && memory.health.held == nil
        if !isQuiet || memory.answer != answer.fingerprint || memory.cursor != answer.cursor {
            let commit = PollCommit(
                scope: source.scope.id, source: source.name, expectedTurn: memory.turn, at: now, cursor: answer.cursor,
                answer: answer.fingerprint, present: reconciliation.present, removed: reconciliation.removed, events: events,
                health: health)
            surroundings.checkpoint(.beforePollCommit)
            let result = try await storing { store throws(StoreError) in try await store.commit(commit) }
            surroundings.checkpoint(.afterPollCommit)
            guard case .committed(let turn, _) = result else { return .superseded }
            memory.turn = turn
        }
        let isBaseline = !memory.hasBaseline
        memory.take(evidence, order: order)
        memory.hasBaseline = true
        memory.answer = answer.fingerprint
        memory.cursor = answer.cursor
        memory.health = health
        return report(isBaseline: isBaseline, events: events, tasks: memory.known.count, took: .now - started)
    }

    /// True when what was read differs from what is kept, so that a row must be written.
    private func needsKeeping(_ key: TaskKey, _ details: Details, _ memory: SourceMemory) -> Bool {
        guard let snapshot = details.snapshots[key], let known = memory.known[key] else { return true }
        return known.content != snapshot.content
    }

    private func gather(
        _ order: [TaskKey], _ listing: Listing, _ comparison: Comparison, _ details: Details, _ memory: SourceMemory
    ) async throws(Trouble) -> Reconciliation.Evidence {
        let scope = source.scope
        let asked = order.filter { needsKeeping($0, details, memory) } + comparison.gone
        let remembered =
            asked.isEmpty
            ? [:] : try await storing { store throws(StoreError) in try await store.remembered(asked, in: scope.id) }
        let subjects = remembered.keys.map { scope.subject(of: $0) }
        let since = memory.health.lastSuccess ?? .distantPast
        let writes =
            subjects.isEmpty
            ? [:] : try await storing { store throws(StoreError) in try await store.writes(to: subjects, since: since) }
        var listed: [TaskKey: Fingerprint] = [:]
        for index in comparison.new + comparison.changed {
            let entry = listing.entries[index]
            listed[entry.key] = entry.fingerprint
        }
        for key in order where listed[key] == nil { listed[key] = memory.known[key]?.listed }
        return Reconciliation.Evidence(
            source: source.name, scope: scope, now: surroundings.clock.now, hasBaseline: memory.hasBaseline,
            emitsInitial: plan.emitsInitial, details: details, remembered: remembered, listed: listed, gone: comparison.gone,
            writes: writes)
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
