import BellhopCore

extension PollMachine {
    /// Counts a failed poll, with an event once enough have failed in a row, and waits longer after each.
    mutating func fail(_ failure: Failure, at moment: Moment) -> Step {
        var health = memory.health
        health.failures += 1
        let since = health.failingSince ?? moment.now
        health.failingSince = since
        health.lastError = failure.message
        var events: [Event] = []
        let needsPerson = failure.remedy == .pauseConnection || failure.remedy == .giveUp
        if !health.announced, health.failures >= plan.failuresToAnnounce || needsPerson {
            health.announced = true
            events.append(event(.sourceFailing(source.name, failure, since: since), fact: since, at: moment.now))
        }
        let next = nextPoll(after: failure, failures: health.failures, at: moment)
        retryAt = next
        report(.pollFailed(source: source.name, failure: failure, failures: health.failures, next: plan.isRepeated ? next : nil))
        var rest: RequestedRest?
        if case .rest(let wait) = failure.remedy { rest = RequestedRest(wait: wait, reason: failure.message) }
        return go(to: .storing(health, .failed(failure), events.map(Signal.event)), .store(health, events, rest: rest))
    }

    /// When to poll next after this many failures in a row: later after each failure, and not before the source allows.
    private func nextPoll(after failure: Failure, failures: Int, at moment: Moment) -> Timestamp {
        let regular = regular(after: moment.now, isBusy: false, jitter: moment.jitter)
        let pace = max(regular - moment.now, .seconds(1))
        // Half of the ceiling is fixed, so that failing polls are always rarer than working ones.
        let backoff = Backoff(base: pace, factor: 2, cap: max(plan.failureCap, pace))
        var wait = backoff.ceiling(attempt: failures) / 2 + backoff.delay(attempt: failures, jitter: moment.jitter) / 2
        switch failure.remedy {
        case .retry(let least?), .rest(let least?): wait = max(wait, least)
        case .pauseConnection: wait = max(wait, min(.seconds(300), plan.failureCap))
        case .retry(nil), .rest(nil), .giveUp, .unknownOutcome, .hold, .pauseReceiver: break
        }
        return max(regular, moment.now + wait)
    }

    /// Ends a poll that found nothing new. It is stored only if polls failed before, or if an empty list is confirmed.
    mutating func recover(_ poll: Poll, at moment: Moment) -> Step {
        let before = memory.health
        let health = SourceHealth(lastSuccess: poll.began, emptyBaseline: provisional(isStillEmpty: true, at: poll.began))
        reportRecovery(to: health)
        let unchanged = Signal.unchanged(source: source.name, tasks: memory.known.count, took: moment.took)
        guard before.failures > 0 || before.emptyBaseline != health.emptyBaseline else {
            memory.health = health
            report(unchanged)
            return end(.unchanged)
        }
        let events = before.announced ? [recovered(before, at: moment.now)] : []
        return go(to: .storing(health, .unchanged, events.map(Signal.event) + [unchanged]), .store(health, events, rest: nil))
    }

    /// Reports that polls work again, even after few failures.
    mutating func reportRecovery(to health: SourceHealth) {
        let before = memory.health
        guard before.failures > 0 || before.held != nil && health.held == nil else { return }
        report(.recovered(source: source.name, failures: before.failures, since: before.failingSince))
    }

    /// The empty first list that is provisional after this poll; nil if there is none.
    func provisional(isStillEmpty: Bool, at began: Timestamp) -> EmptyBaseline? {
        guard isStillEmpty, plan.storms.mayHold, !plan.emitsInitial, source.shows == .tasks else { return nil }
        if !memory.hasBaseline { return EmptyBaseline(since: began) }
        return memory.health.emptyBaseline.flatMap { $0.isConfirmed(at: began) ? nil : $0 }
    }

    /// Holds a result until a later poll shows the same. Emits an event for the first of several held results in a row, and another when
    /// the fields that changed in many tasks become known.
    mutating func hold(_ held: HeldResult, at moment: Moment) -> Step {
        let before = memory.health
        // The result was not used, so the latest success is unchanged.
        let health = SourceHealth(lastSuccess: before.lastSuccess, held: held, emptyBaseline: before.emptyBaseline)
        var events: [Event] = []
        if before.held == nil || !held.fields.isEmpty && before.held?.fields.isEmpty == true {
            events.append(event(.sourceHeld(source.name, held), fact: moment.now, at: moment.now))
        }
        if before.announced { events.append(recovered(before, at: moment.now)) }
        return go(
            to: .storing(health, .held, [.pollHeld(source: source.name, held)] + events.map(Signal.event)),
            .store(health, events, rest: nil))
    }

    func recovered(_ before: SourceHealth, at now: Timestamp) -> Event {
        Self.recovered(source.name, source.scope.id, before, at: now)
    }

    static func recovered(_ source: String, _ scope: Scope.ID, _ before: SourceHealth, at now: Timestamp) -> Event {
        let since = before.failingSince ?? now
        let content = EventContent.sourceRecovered(source, error: before.lastError ?? "", since: since)
        return event(content, about: source, scope, fact: since, at: now)
    }

    /// An event about the source itself.
    ///
    /// - Parameter fact: the time that distinguishes it from earlier events of its type.
    private func event(_ content: EventContent, fact: Timestamp, at now: Timestamp) -> Event {
        Self.event(content, about: source.name, source.scope.id, fact: fact, at: now)
    }

    private static func event(
        _ content: EventContent, about source: String, _ scope: Scope.ID, fact: Timestamp, at now: Timestamp
    ) -> Event {
        Event(
            content, facts: source, scope.text, String(fact.microseconds), source: source, subject: "source/\(source)", at: now)
    }
}
