import BellhopCore

extension Poller {
    /// Reads the details that the comparison requires, and commits the poll (T1), or holds it if the details make it doubtful.
    mutating func keep(
        _ answer: Answer, _ comparison: Comparison, stale: [TaskKey], _ memory: inout SourceMemory, began: Timestamp,
        started: ContinuousClock.Instant
    ) async throws(Trouble) -> PollOutcome {
        let order = ReadingOrder(answer.listing, comparison, stale: stale)
        let (asked, waiting) = portion(of: comparison.gone)
        var details = Details()
        if !order.keys.isEmpty || !asked.isEmpty {
            details = try await asking { source throws(Failure) in
                try await source.details(of: order.keys + asked, in: answer.listing)
            }
        }
        let isListEmpty = answer.coverage == .whole && answer.listing.entries.isEmpty
        let departures = Departures(
            asked: asked, waiting: waiting, details: details, isListEmpty: isListEmpty, mayBeCut: answer.mayBeCut)
        let restart = departures.remaining > 0 ? answer.cursorIfIncomplete : nil
        let cursor = restart ?? answer.cursor
        if !order.keys.isEmpty || !asked.isEmpty {
            let isFalse = isListEmpty || restart != nil
            let notices = [
                details.notice, isFalse ? departures.notice(of: source.name, isListEmpty: isListEmpty) : nil,
            ].compactMap(\.self)
            emitNotice(notices.isEmpty ? nil : notices.joined(separator: " "))
        }

        var readings = order.readings(details, known: memory.known)
        let hidden = memory.health.emptyBaseline?.hidden(among: readings.map(\.text.snapshot)) ?? []
        let evidence = try await gather(
            readings, gone: departures.gone, hidden: hidden, details, answer, memory, began: began)
        for place in readings.indices where !readings[place].isRead {
            let key = readings[place].key
            readings[place].complete(by: evidence.remembered[key]?.snapshot, content: memory.known[key]?.content)
        }
        let reconciliation = Reconciliation(evidence, readings)
        let decision = plan.storms.decide(
            departures, reconciliation.events.count > plan.storms.mostAlike ? AlikeChanges(reconciliation.events) : nil,
            previous: memory.health.held, at: evidence.now,
            result: HeldResult(
                known: memory.known.count, listing: answer.listing, comparison: comparison, after: memory.health.held,
                at: evidence.now))
        if case .hold(let held) = decision { return try await hold(held, &memory) }

        let health = SourceHealth(
            lastSuccess: began,
            held: plan.storms.stillHeld(
                of: departures, listed: answer.listing.entries.count, previous: memory.health.held, at: evidence.now),
            emptyBaseline: provisional(
                memory, isStillEmpty: memory.known.isEmpty && answer.listing.entries.isEmpty, at: began))
        var events = reconciliation.events
        if memory.health.announced { events.append(recovered(memory.health, at: evidence.now)) }
        // Forget the answer if one of its tasks could not be read, or if one is missing that still exists, so that the next
        // answer is always processed.
        let seen = readings.count == order.keys.count && departures.kept.isEmpty ? answer.fingerprint : nil
        let isQuiet =
            memory.hasBaseline && reconciliation.present.isEmpty && reconciliation.removed.isEmpty && events.isEmpty
            && memory.health.failures == 0 && memory.health.held == health.held
            && memory.health.emptyBaseline == health.emptyBaseline
        if !isQuiet || memory.answer != seen || memory.cursor != cursor {
            let commit = PollCommit(
                scope: source.scope.id, source: source.name, expectedTurn: memory.turn, at: evidence.now, cursor: cursor,
                answer: seen, present: reconciliation.present, removed: reconciliation.removed, events: events, health: health)
            surroundings.checkpoint(.beforePollCommit)
            let result = try await storing { store throws(StoreError) in try await store.commit(commit) }
            surroundings.checkpoint(.afterPollCommit)
            guard case .committed(let turn, _) = result else { return .superseded }
            memory.turn = turn
            keptSuccess = began
        }
        let isFirst = !memory.hasBaseline
        memory.known.take(readings, at: evidence.now)
        memory.known.remove(departures.gone)
        memory.hasBaseline = true
        memory.answer = seen
        memory.cursor = cursor
        emitRecovery(from: memory.health, to: health)
        memory.health = health
        if !hidden.isEmpty { emitBaselineNotice(hidden: hidden.count) }
        let baseline = isFirst ? memory.known.count : hidden.isEmpty ? nil : hidden.count
        return report(baseline: baseline, events: events, tasks: memory.known.count, took: .now - started)
    }

    /// Splits unlisted tasks into those to ask for now and those left for a later poll, in rotation.
    private mutating func portion(of gone: [TaskKey]) -> (asked: [TaskKey], waiting: [TaskKey]) {
        let most = source.mostDepartures
        guard gone.count > most else { return (gone, []) }
        let start = portions % ((gone.count + most - 1) / most) * most
        portions += 1
        let turned = gone[start...] + gone[..<start]
        return (Array(turned.prefix(most)), Array(turned.dropFirst(most)))
    }

    /// Reports that an empty first list hid existing tasks.
    private func emitBaselineNotice(hidden count: Int) {
        surroundings.signals.emit(
            .notice(
                source: source.name,
                text:
                    "The first list of source \(source.name) was empty, and \(count) existing tasks appeared soon after: "
                    + "they are its baseline, without task_created events."))
    }

    private func gather(
        _ readings: [Reading], gone: [TaskKey], hidden: Set<TaskKey>, _ details: Details, _ answer: Answer,
        _ memory: SourceMemory, began: Timestamp
    ) async throws(Trouble) -> Reconciliation.Evidence {
        let scope = source.scope
        let read = Set(answer.comments.isEmpty ? [] : readings.map(\.key))
        let comments = answer.comments.filter { memory.known[$0.task] != nil || read.contains($0.task) }
        var asked = readings.lazy.filter { !$0.isAsKept }.map(\.key) + gone
        asked += Set(comments.map(\.task)).subtracting(asked)
        let keys = asked
        // Before the first stored poll there is nothing to remember.
        let remembered =
            keys.isEmpty || !memory.hasBaseline
            ? [:] : try await storing { store throws(StoreError) in try await store.remembered(keys, in: scope.id) }
        // A task's present state may come from what was written to it since it was last read.
        var since = min(memory.health.lastSuccess ?? .distantPast, began) - answer.lag
        for reading in readings where reading.wasStale && !reading.isAsKept {
            since = min(since, memory.known[reading.key]?.refreshed ?? .distantPast)
        }
        // A new task may be one that a rule made; the first poll emits none.
        let subjects = (memory.hasBaseline ? Array(asked) : Array(remembered.keys)).map { scope.subject(of: $0) }
        let writes =
            subjects.isEmpty
            ? [:] : try await storing { store throws(StoreError) in try await store.writes(to: subjects, since: since) }
        return Reconciliation.Evidence(
            source: source.name, scope: scope, shows: source.shows, now: surroundings.clock.now, hasBaseline: memory.hasBaseline,
            emitsInitial: plan.emitsInitial, hidden: hidden, details: details, remembered: remembered, gone: gone, writes: writes,
            comments: comments, written: try await written(comments))
    }

    /// Our own comments that may be among these.
    private func written(_ comments: [TaskComment]) async throws(Trouble) -> [String: [WrittenComment]] {
        let scope = source.scope
        let ours = comments.filter { $0.authorship != .others }
        guard let first = ours.map(\.time).min() else { return [:] }
        let subjects = Set(ours.map { scope.subject(of: $0.task) }).sorted()
        // The server's clock and ours may differ.
        return try await storing { store throws(StoreError) in
            try await store.comments(on: subjects, since: first - .seconds(3600))
        }
    }

    /// - Parameter baseline: how many tasks the poll added to the baseline; nil for none.
    private func report(baseline: Int?, events: [Event], tasks: Int, took: Duration) -> PollOutcome {
        let signals = surroundings.signals
        if let baseline { signals.emit(.baseline(source: source.name, tasks: baseline)) }
        if baseline != nil || !events.isEmpty {
            signals.emit(.polled(source: source.name, tasks: tasks, events: events.count, took: took))
        } else {
            signals.emit(.unchanged(source: source.name, tasks: tasks, took: took))
        }
        announce(events)
        if let baseline { return .baseline(tasks: baseline) }
        return events.isEmpty ? .unchanged : .changed(events: events.count)
    }
}
