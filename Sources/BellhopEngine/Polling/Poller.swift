public import BellhopCore

/// Polls one source: one poll at a time, each stored whole or not at all (T1).
public struct Poller: Sendable {
    public let source: any Source
    let surroundings: Surroundings
    let plan: PollPlan
    /// Rung to poll now.
    let bell: Bell
    /// The store's state; nil until read, and again after another poll was stored first.
    var memory: SourceMemory?
    /// When to poll again after a failed poll; nil while polls work.
    var retryAt: Timestamp?
    /// The latest success recorded in the store.
    var keptSuccess: Timestamp?
    /// How often to record a success on its own: most polls find nothing and write nothing.
    private static let keepEvery = Duration.seconds(600)
    /// How many polls asked for a portion of the unlisted tasks.
    var portions = 0
    /// The latest notice about details, without its numbers.
    var toldNotice: String?
    /// The notices about lists since the last whole one, without their numbers.
    var toldOfLists: Set<String> = []

    public init(_ source: any Source, plan: PollPlan, in surroundings: Surroundings, bell: Bell = Bell()) {
        self.source = source
        self.bell = bell
        self.plan = plan
        self.surroundings = surroundings
    }

    /// Polls on the plan's cadence until the task is cancelled.
    /// - Parameter looked: called once the first poll has ended, successful or not.
    public mutating func run(looked: @Sendable () -> Void = {}) async {
        await pollUntilCancelled(looked)
        await keepSuccess()
    }

    private mutating func pollUntilCancelled(_ looked: @Sendable () -> Void) async {
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
                next = retryAt ?? min(nextPoll(after: started, wasBusy: wasBusy), secondLook(after: started) ?? .distantFuture)
            } catch {
                surroundings.signals.emit(.storeFailed(doing: "keeping a poll of \(source.name)", error))
                // Trouble in our store is no reason to poll a source more often than its cadence.
                next = memory == nil ? started + Surroundings.storePause : nextPoll(after: started, wasBusy: wasBusy)
                memory = nil
            }
            if isFirst { looked() }
            isFirst = false
            guard await sleep(until: next) else { return }
        }
    }

    /// One poll, from request to commit.
    public mutating func pollOnce() async throws(StoreError) -> PollOutcome {
        let started = ContinuousClock.now
        surroundings.underway.begin(.polling, source.name, at: surroundings.clock.now)
        defer { surroundings.underway.end(source.name) }
        var memory = try await remembering()
        retryAt = nil
        if let failure = restFailure(memory.health) { return .failed(failure) }
        do throws(Trouble) {
            let outcome = try await poll(&memory, started: started)
            if case .superseded = outcome {
                self.memory = nil
                surroundings.signals.emit(.pollSuperseded(source: source.name))
            } else {
                self.memory = memory
                await keepSuccess(after: Self.keepEvery)
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
        try await surroundings.rests.restore(from: surroundings.store)
        let memory = try await surroundings.store.open(source.scope, source: source.name, at: surroundings.clock.now)
        self.memory = memory
        keptSuccess = memory.health.lastSuccess
        return memory
    }

    /// Records the last successful poll if the recorded one is older than `age`: later readers of the store must not get an
    /// earlier time than the agent reported.
    mutating func keepSuccess(after age: Duration = .zero) async {
        guard let health = memory?.health, let success = health.lastSuccess, success > keptSuccess ?? .distantPast,
            keptSuccess.map({ success - $0 >= age }) ?? (age == .zero)
        else { return }
        let (store, scope) = (surroundings.store, source.scope.id)
        let error = await uncancelled { () async -> StoreError? in
            do throws(StoreError) { try await store.setHealth(health, of: scope, events: [], rest: nil) } catch { return error }
            return nil
        }
        if let error {
            surroundings.signals.emit(.storeFailed(doing: "keeping when \(source.name) was polled", error))
        } else {
            keptSuccess = success
        }
    }

    // MARK: - One poll

    private mutating func poll(
        _ memory: inout SourceMemory, started: ContinuousClock.Instant
    ) async throws(Trouble) -> PollOutcome {
        let began = surroundings.clock.now
        // If the clock was set back, the age of the details is unknown.
        if let latest = memory.health.lastSuccess, latest > began { memory.known.age(readAfter: began) }
        let stale = stale(memory, at: began)
        let canSkipIfUnchanged = memory.hasBaseline && memory.health.held == nil && stale.isEmpty
        var answer = try await list(memory, unlessSame: canSkipIfUnchanged)
        if canSkipIfUnchanged, answer.isSame(as: memory) {
            try await recover(&memory, began: began)
            surroundings.signals.emit(.unchanged(source: source.name, tasks: memory.known.count, took: .now - started))
            return .unchanged
        }
        var comparison = memory.known.compare(with: answer)
        var verdict = judge(memory, answer, comparison, isSecondReading: false)
        if case .readAgain = verdict {
            answer = try await list(memory, unlessSame: false)
            comparison = memory.known.compare(with: answer)
            verdict = judge(memory, answer, comparison, isSecondReading: true)
        }
        if case .hold(let held) = verdict { return try await hold(held, &memory) }
        return try await keep(answer, comparison, stale: stale, &memory, began: began, started: started)
    }

    private func stale(_ memory: SourceMemory, at now: Timestamp) -> [TaskKey] {
        guard source.hidesChanges else { return [] }
        let age = plan.refresh.age(tasks: memory.known.count)
        return memory.known.stale(before: age == .zero ? .distantFuture : now - age, limit: plan.refresh.batch)
    }

    private mutating func list(_ memory: SourceMemory, unlessSame: Bool) async throws(Trouble) -> Answer {
        let standing = Standing(cursor: memory.cursor, answer: unlessSame ? memory.answer : nil, known: memory.known)
        let answer = try await asking { source throws(Failure) in try await source.list(from: standing) }
        emitNotices(answer.notices, isWhole: answer.coverage == .whole)
        return answer
    }

    private func judge(
        _ memory: SourceMemory, _ answer: Answer, _ comparison: Comparison, isSecondReading: Bool
    ) -> StormGuard.Decision {
        plan.storms.decide(
            known: memory.known, listing: answer.listing, coverage: answer.coverage, comparison: comparison,
            previous: memory.health.held, isSecondReading: isSecondReading,
            isBaseline: !memory.hasBaseline || memory.health.emptyBaseline != nil, at: surroundings.clock.now)
    }
}

extension Answer {
    /// Whether it has nothing new since the last stored answer.
    fileprivate func isSame(as memory: SourceMemory) -> Bool {
        memory.answer == fingerprint && memory.cursor == cursor && comments.isEmpty
    }
}
