import BellhopCore

extension Poller {
    /// Reads what the comparison says must be read, and keeps the poll (T1).
    mutating func keep(
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
        let gone = comparison.gone.filter { !details.remaining.contains($0) }

        var readings = order.readings(details, known: memory.known)
        let evidence = try await gather(readings, gone: gone, details, answer, memory, began: began)
        for place in readings.indices where !readings[place].isRead {
            let key = readings[place].key
            readings[place].complete(by: evidence.remembered[key]?.snapshot, content: memory.known[key]?.content)
        }
        let reconciliation = Reconciliation(evidence, readings)
        let health = SourceHealth(lastSuccess: began)
        var events = reconciliation.events
        if memory.health.announced { events.append(recovered(memory.health, at: evidence.now)) }
        // An answer with a task in it that could not be read, or one missing that is there, is not remembered: the next one is looked
        // at whatever it says.
        let seen = readings.count == order.keys.count && details.remaining.isEmpty ? answer.fingerprint : nil
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
        memory.known.remove(gone)
        memory.hasBaseline = true
        memory.answer = seen
        memory.cursor = answer.cursor
        memory.health = health
        return report(isBaseline: isBaseline, events: events, tasks: memory.known.count, took: .now - started)
    }

    private func gather(
        _ readings: [Reading], gone: [TaskKey], _ details: Details, _ answer: Answer, _ memory: SourceMemory, began: Timestamp
    ) async throws(Trouble) -> Reconciliation.Evidence {
        let scope = source.scope
        let read = Set(answer.comments.isEmpty ? [] : readings.map(\.key))
        let comments = answer.comments.filter { memory.known[$0.task] != nil || read.contains($0.task) }
        var asked = readings.lazy.filter { !$0.isAsKept }.map(\.key) + gone
        asked += Set(comments.map(\.task)).subtracting(asked)
        let keys = asked
        // Before the first poll that was kept there is nothing to remember.
        let remembered =
            keys.isEmpty || !memory.hasBaseline
            ? [:] : try await storing { store throws(StoreError) in try await store.remembered(keys, in: scope.id) }
        // What a task shows now may come from what was written to it since it was looked at before.
        var since = min(memory.health.lastSuccess ?? .distantPast, began) - answer.lag
        for reading in readings where reading.wasStale && !reading.isAsKept {
            since = min(since, memory.known[reading.key]?.refreshed ?? .distantPast)
        }
        // A new task may be one that a rule made; the first poll of all tells of none.
        let subjects = (memory.hasBaseline ? Array(asked) : Array(remembered.keys)).map { scope.subject(of: $0) }
        let writes =
            subjects.isEmpty
            ? [:] : try await storing { store throws(StoreError) in try await store.writes(to: subjects, since: since) }
        return Reconciliation.Evidence(
            source: source.name, scope: scope, shows: source.shows, now: surroundings.clock.now, hasBaseline: memory.hasBaseline,
            emitsInitial: plan.emitsInitial, details: details, remembered: remembered, gone: gone, writes: writes,
            comments: comments, written: try await written(comments))
    }

    /// The comments of our own that these may be.
    private func written(_ comments: [TaskComment]) async throws(Trouble) -> [String: [WrittenComment]] {
        let scope = source.scope
        let ours = comments.filter(\.isByOurUser)
        guard let first = ours.map(\.time).min() else { return [:] }
        let subjects = Set(ours.map { scope.subject(of: $0.task) }).sorted()
        // By the server's clock and by ours, which may differ.
        return try await storing { store throws(StoreError) in
            try await store.comments(on: subjects, since: first - .seconds(3600))
        }
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
