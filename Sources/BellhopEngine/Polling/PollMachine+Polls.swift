import BellhopCore

extension PollMachine {
    /// A poll that waits for its list.
    struct Poll: Sendable {
        var began: Timestamp
        var definitions: FieldDefinitions
        /// The tasks whose details are old.
        var stale: [TaskKey]
        var canSkipIfUnchanged: Bool
        /// Whether the first list was suddenly empty, so that the list is read again.
        var isSecondList = false
    }

    struct AcceptedPoll: Sendable {
        var began: Timestamp
        var definitions: FieldDefinitions
        var answer: Answer
        var comparison: Comparison
        var toRead: TasksToRead
        /// The unlisted tasks that this poll looks up, and those left to a later poll.
        var asked: [TaskKey]
        var waiting: [TaskKey]

        var isListEmpty: Bool { answer.coverage == .whole && answer.listing.entries.isEmpty }
    }

    struct ReadPoll: Sendable {
        var accepted: AcceptedPoll
        var details: Details
        var departures: Departures
        var cursor: Cursor?
        var read: [ReadTask]
        /// Tasks that existed when the first list was empty.
        var hidden: Set<TaskKey>
        var comments: [TaskComment]
    }

    struct DecidedPoll: Sendable {
        var commit: PollCommit
        var read: [ReadTask]
        var gone: [TaskKey]
        /// How many tasks the empty first list hid.
        var hidden: Int
    }

    mutating func start(at moment: Moment) -> Step {
        if let rest = moment.rest, let until = rest.until {
            retryAt = until
            return .end(.failed(Failure(.throttled, .rest(until - moment.now), rest.reason)))
        }
        // If the clock was set back, the age of the details is unknown.
        if let latest = memory.health.lastSuccess, latest > moment.now { memory.known.age(readAfter: moment.now) }
        memory.health.correctFutureTimes(to: moment.now)
        let stale = stale(at: moment.now)
        let definitions = memory.definitions.updated(to: source.definitions)
        let poll = Poll(
            began: moment.now, definitions: definitions, stale: stale,
            canSkipIfUnchanged: memory.hasBaseline && memory.health.held == nil && stale.isEmpty
                && definitions == memory.definitions)
        return list(poll)
    }

    private func stale(at now: Timestamp) -> [TaskKey] {
        guard source.hidesChanges else { return [] }
        let age = plan.refresh.age(tasks: memory.known.count)
        return memory.known.stale(before: age == .zero ? .distantFuture : now - age, limit: plan.refresh.batch)
    }

    private mutating func list(_ poll: Poll) -> Step {
        let canSkip = poll.canSkipIfUnchanged && !poll.isSecondList
        return go(
            to: .listing(poll),
            .list(LastPoll(cursor: memory.cursor, answer: canSkip ? memory.answer : nil, known: memory.known)))
    }

    /// Compares a list with the known tasks. An unchanged list ends the poll, a doubtful one is held or read again, and any other
    /// shows which details to read.
    mutating func compare(_ answer: Answer, _ poll: Poll, at moment: Moment) -> Step {
        report(listNotices: answer.notices, isWhole: answer.coverage == .whole)
        if poll.canSkipIfUnchanged, !poll.isSecondList, answer.fingerprint != .zero, memory.answer == answer.fingerprint,
            memory.cursor == answer.cursor, answer.comments.isEmpty,
            answer.coverage != .whole || answer.listing.entries.count == memory.known.count
        {
            // The counts differ if the last answer was a partial list with the same rows as this complete list.
            return recover(poll, at: moment)
        }
        let comparison = memory.known.compare(with: answer)
        let decision = plan.storms.decide(
            known: memory.known, listing: answer.listing, coverage: answer.coverage, comparison: comparison,
            previous: memory.health.held, isSecondList: poll.isSecondList,
            isBaseline: !memory.hasBaseline || memory.health.emptyBaseline != nil, at: moment.now)
        switch decision {
        case .accept: break
        case .hold(let held): return hold(held, at: moment)
        case .readAgain:
            var poll = poll
            poll.isSecondList = true
            return list(poll)
        }
        let (asked, waiting) = chooseLookups(among: comparison.gone)
        let accepted = AcceptedPoll(
            began: poll.began, definitions: poll.definitions, answer: answer, comparison: comparison,
            toRead: TasksToRead(answer.listing, comparison, stale: poll.stale), asked: asked, waiting: waiting)
        let keys = accepted.toRead.keys + asked
        if keys.isEmpty { return take(Details(), accepted, at: moment) }
        return go(to: .reading(accepted), .details(of: keys, in: answer.listing))
    }

    /// Finds out from the details which tasks have left, and which facts about the others to read from the store.
    mutating func take(_ details: Details, _ accepted: AcceptedPoll, at moment: Moment) -> Step {
        let answer = accepted.answer
        let departures = Departures(
            asked: accepted.asked, waiting: accepted.waiting, details: details, isListEmpty: accepted.isListEmpty,
            mayBeCut: answer.mayBeCut)
        let restart = departures.remaining > 0 ? answer.cursorIfIncomplete : nil
        if !accepted.toRead.keys.isEmpty || !accepted.asked.isEmpty {
            let isListWrong = accepted.isListEmpty || restart != nil
            let notices = [
                details.notice, isListWrong ? departures.notice(of: source.name, isListEmpty: accepted.isListEmpty) : nil,
            ].compactMap(\.self)
            report(detailNotice: notices.isEmpty ? nil : notices.joined(separator: " "))
        }
        let read = accepted.toRead.read(details, known: memory.known, by: accepted.definitions)
        let readKeys = Set(answer.comments.isEmpty ? [] : read.map(\.key))
        let poll = ReadPoll(
            accepted: accepted, details: details, departures: departures, cursor: restart ?? answer.cursor, read: read,
            hidden: memory.health.emptyBaseline?.hidden(
                among: read.map(\.text.snapshot), created: source.schema.roles.created) ?? [],
            comments: answer.comments.filter { memory.known[$0.task] != nil || readKeys.contains($0.task) })
        let request = loadRequest(for: poll)
        if request.isEmpty { return decide(Loaded(), poll, at: moment) }
        return go(to: .loading(poll), .load(request))
    }

    private func loadRequest(for poll: ReadPoll) -> LoadRequest {
        var request = LoadRequest()
        // Before the first stored poll the store has no tasks, and no event needs a write as its cause.
        if memory.hasBaseline {
            request.keys = poll.read.lazy.filter { !$0.isAsStored }.map(\.key) + poll.departures.gone
            request.keys += Set(poll.comments.map(\.task)).subtracting(request.keys)
            // A task's present state may come from any write since it was last read.
            request.since = min(memory.health.lastSuccess ?? .distantPast, poll.accepted.began) - poll.accepted.answer.lag
            for task in poll.read where task.wasStale && !task.isAsStored {
                request.since = min(request.since, memory.known[task.key]?.refreshed ?? .distantPast)
            }
        }
        let perhapsOurs = poll.comments.filter { $0.authorship != .others }
        if let first = perhapsOurs.map(\.time).min() {
            request.commented = Set(perhapsOurs.map { source.scope.subject(of: $0.task) }).sorted()
            // Allows for a difference between the server's clock and ours.
            request.commentsSince = first - .seconds(3600)
        }
        return request
    }

    /// Commits the poll (T1), or holds it if the details make it doubtful.
    mutating func decide(_ loaded: Loaded, _ poll: ReadPoll, at moment: Moment) -> Step {
        let definitions = poll.accepted.definitions
        var read = poll.read
        for place in read.indices where read[place].isPartial {
            read[place].complete(by: loaded.tasks[read[place].key]?.snapshot, definitions)
        }
        var details = poll.details
        for key in poll.departures.gone {
            if let text = details.snapshots.text(of: key), !text.unread.isEmpty, let stored = loaded.tasks[key]?.snapshot {
                details.snapshots.add(text.completed(by: stored, except: definitions.redefined(since: memory.known[key])))
            }
        }
        let reconciliation = Reconciliation(
            Reconciliation.Evidence(
                source: source.name, scope: source.scope, shows: source.shows, now: moment.now, hasBaseline: memory.hasBaseline,
                emitsInitial: plan.emitsInitial, hidden: poll.hidden, details: details, remembered: loaded.tasks,
                gone: poll.departures.gone, schema: source.schema, definitions: definitions,
                writes: loaded.writes, comments: poll.comments, written: loaded.comments, user: poll.accepted.answer.user), read)
        let (answer, before) = (poll.accepted.answer, memory.health)
        let decision = plan.storms.decide(
            poll.departures, reconciliation.events.count > plan.storms.maxAlike ? AlikeChanges(reconciliation.events) : nil,
            previous: before.held, at: moment.now,
            result: HeldResult(
                known: memory.known.count, listing: answer.listing, comparison: poll.accepted.comparison, after: before.held,
                at: moment.now))
        if case .hold(let held) = decision { return hold(held, at: moment) }

        let began = poll.accepted.began
        let health = SourceHealth(
            lastSuccess: began,
            held: plan.storms.stillHeld(
                of: poll.departures, listed: answer.listing.entries.count, previous: before.held, at: moment.now),
            emptyBaseline: provisional(isStillEmpty: memory.known.isEmpty && answer.listing.entries.isEmpty, at: began))
        var events = reconciliation.events
        if before.announced { events.append(recovered(before, at: moment.now)) }
        // If a task could not be read, or an existing task is missing, forget the answer, so that the next one is processed even if
        // it is the same.
        let isComplete = read.count == poll.accepted.toRead.keys.count && poll.departures.kept.isEmpty
        let commit = PollCommit(
            scope: source.scope.id, source: source.name, expectedTurn: memory.turn, at: moment.now, cursor: poll.cursor,
            answer: isComplete ? answer.fingerprint : nil, definitions: definitions,
            present: reconciliation.present, removed: reconciliation.removed, events: events, health: health)
        let decided = DecidedPoll(commit: commit, read: read, gone: poll.departures.gone, hidden: poll.hidden.count)
        if memory.hasBaseline, reconciliation.present.isEmpty, reconciliation.removed.isEmpty, events.isEmpty,
            before.failures == 0, before.held == health.held, before.emptyBaseline == health.emptyBaseline,
            memory.answer == commit.answer, memory.cursor == commit.cursor, memory.definitions == commit.definitions
        {
            return finish(decided, at: moment)
        }
        return go(to: .committing(decided), .commit(commit))
    }

    /// Remembers a poll that is stored, or that has nothing to store.
    mutating func finish(_ poll: DecidedPoll, at moment: Moment) -> Step {
        let isFirst = !memory.hasBaseline
        let (commit, events) = (poll.commit, poll.commit.events)
        memory.known.take(poll.read, at: commit.at)
        memory.known.remove(poll.gone)
        memory.hasBaseline = true
        memory.answer = commit.answer
        memory.cursor = commit.cursor
        memory.definitions = commit.definitions
        reportRecovery(to: commit.health)
        memory.health = commit.health
        let name = source.name
        if poll.hidden > 0 {
            report(
                .notice(
                    source: name,
                    text: "The first list of source \(name) was empty, and \(poll.hidden) existing tasks appeared soon after: "
                        + "they are its baseline, without task_created events."))
        }
        let tasks = memory.known.count
        // How many tasks the poll added to the baseline.
        let baseline = isFirst ? tasks : poll.hidden > 0 ? poll.hidden : nil
        if let baseline { report(.baseline(source: name, tasks: baseline)) }
        report(
            baseline == nil && events.isEmpty
                ? .unchanged(source: name, tasks: tasks, took: moment.took)
                : .polled(source: name, tasks: tasks, events: events.count, took: moment.took))
        for event in events { report(.event(event)) }
        if let baseline { return end(.baseline(tasks: baseline)) }
        return end(events.isEmpty ? .unchanged : .changed(events: events.count))
    }
}
