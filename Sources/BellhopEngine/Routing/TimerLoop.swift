public import BellhopCore
import BellhopRules

/// Fires the rules' timers when they are due; after a start, also those that came due while the agent was not running.
public struct TimerLoop: Sendable {
    private let context: EngineContext
    private let shelf: RuleShelf
    /// Timers that came due before its start wait for the first good poll, and fire after the events of that poll are routed.
    private let initialPolls: InitialPolls

    /// - Parameter initialPolls: timers of a rule that reads the tasks of sources wait until each of these was polled once, so that a
    ///   digest shows the present tasks and not those of the last run. Other rules do not wait.
    public init(_ context: EngineContext, shelf: RuleShelf, after initialPolls: InitialPolls? = nil) {
        self.context = context
        self.shelf = shelf
        self.initialPolls = initialPolls ?? InitialPolls(started: context.clock.now)
    }

    /// Fires what is due, then waits for the next; returns when cancelled.
    public func run() async {
        var latest = context.clock.now
        while !Task.isCancelled {
            do {
                if context.clock.now < latest { try await correctFutureTimes() }
                latest = context.clock.now
                try await fireDue()
                let looked = context.clock.now
                let waiting = shelf.book.map { self.waiting(by: $0, at: looked) } ?? WaitingTimers()
                let timer = try await context.store.nextTimer(after: .distantPast, besides: waiting).map(nextLook)
                let next = [
                    timer, initialPolls.nextTimeout(after: looked), context.silences.next, context.held.next.map(nextLook),
                ].compactMap(\.self).min()
                context.turns.end(.timers)
                let began = context.clock.now
                await context.bells.timers.wait(until: next, on: context.clock, stride: Self.stride)
                let now = context.clock.now
                if let next, next > began, now - next > InitialPolls.leastDowntime {
                    initialPolls.beginAnew(at: now, after: next)
                }
            } catch {
                context.turns.end(.timers)
                context.report(error, doing: "firing timers")
                guard await context.pauseAfterStoreError() else { return }
            }
        }
    }

    /// When to look again. A due timer that could not fire yet is tried again in a second, or when the bell rings because its rule was
    /// installed. The bell also rings for timers that wait for a poll, when a first poll has ended.
    private func nextLook(_ due: Timestamp) -> Timestamp {
        let now = context.clock.now
        return due > now ? due : now + .seconds(1)
    }

    /// How often to check the clock while sleeping, to notice that it was set.
    private static let stride = Duration.seconds(60)

    /// Moves schedules forward that are due later than their rules say, because the clock was set back. Also shortens
    /// waits for polls, so that they last no longer than after a start now, and quiet times that hold messages from then.
    private func correctFutureTimes() async throws(StoreError) {
        initialPolls.correctFutureTimes(to: context.clock.now)
        try await context.store.correctFutureTimes(at: context.clock.now)
        context.held.forget()
        // No installation of other rules may set timers meanwhile.
        await context.routing.enterUncancelled()
        defer { context.routing.leave() }
        guard let book = shelf.book else { return }
        var nexts: [RuleTimer.ID: Timestamp] = [:]
        for rule in book.registrations(at: context.clock.now) {
            nexts[RuleTimer.ID(rule: rule.name, kind: .schedule)] = rule.schedule?.next
        }
        var result = RouteResult.stored
        repeat {
            let late = try await context.store.timers(Array(nexts.keys)).filter { $0.due > nexts[$0.id] ?? $0.due }
            if late.isEmpty { return }
            let moved = late.map { TimerChange.set(RuleTimer($0.id, due: nexts[$0.id] ?? $0.due, payload: $0.payload)) }
            result = try await context.store.route(Routing(fired: late, timers: moved))
        } while result != .stored
    }

    /// The most events on the bus that are examined to find those that come before the timers.
    private static let maxEvents = 1000

    /// Fires everything that is due; returns the number of timers.
    @discardableResult
    public func fireDue() async throws(StoreError) -> Int { try await fireDue(at: nil, for: .timers) }

    /// Fires the timers that came due before these events, and returns the events that may be routed now: those before the next timer,
    /// and those that cannot matter to any timer. A timer comes before the events of its moment. Nil if timers have fired, as they may
    /// have made events. Timers that came due while the agent was not running do not fire here.
    ///
    /// - Parameters:
    ///   - first: the first events on the bus.
    ///   - unrouted: more of the first events, if they were read already.
    func next(
        of first: [StoredEvent], in unrouted: [StoredEvent]? = nil, by book: RuleBook
    ) async throws(StoreError) -> NextEvents? {
        func concernsTimers(_ stored: StoredEvent) -> Bool { book.concernsTimers(stored.event) }
        func events(before place: Int, due: Timestamp?) async throws(StoreError) -> NextEvents {
            let read = unrouted ?? first
            // Read last, because the other loop may just have fired the timer of a schedule. A mass change may have stored more events
            // before those of schedules than are read at once.
            let others = try await context.store.unroutedSchedules(after: read.last?.sequence ?? .max, limit: Self.maxEvents)
            return NextEvents(of: Array(first[..<place]), in: read + others, before: due) { moment(of: $0, by: book) }
        }
        guard let place = first.firstIndex(where: concernsTimers) else {
            return try await events(before: first.endIndex, due: nil)
        }
        let time = first[place].event.time
        let waiting = waiting(by: book, at: context.clock.now)
        if let due = try await context.store.nextTimer(after: .distantPast, besides: waiting), due <= time {
            // Events that cannot matter to any timer do not wait for the due timers.
            if place > 0 { return try await events(before: place, due: due) }
            let known = unrouted ?? (first.count < Self.maxEvents ? nil : first)
            if try await fireDue(at: time, before: known, for: .router) > 0 { return nil }
        }
        // Timers that are due earlier wait for a poll, and do not delay these events.
        guard let due = try await context.store.nextTimer(after: time, besides: waiting) else {
            return try await events(before: first.endIndex, due: nil)
        }
        return try await events(
            before: first.firstIndex { $0.event.time >= due && concernsTimers($0) } ?? first.endIndex, due: due)
    }

    /// When a schedule came due; for a late one, when its event was made.
    private func moment(of schedule: Event, by book: RuleBook) -> NextEvents.Moment {
        let due = schedule.data[.due]?.asString.flatMap(Timestamp.init(rfc3339:)) ?? schedule.time
        return isOnTime(due, of: schedule.source, by: book)
            ? NextEvents.Moment(time: due) : NextEvents.Moment(time: schedule.time, isLate: true)
    }

    /// Whether the agent was running at the due time, and knew the tasks that the rule reads.
    private func isOnTime(_ due: Timestamp, of rule: String, by book: RuleBook) -> Bool {
        due >= initialPolls.started && initialPolls.hadPolled(book.scopesRead(by: rule), at: due)
    }

    /// Whether the same holds for a timer, and it did not wait for a good poll: one that waited fires after the events of that poll.
    private func isOnTime(_ timer: RuleTimer, by book: RuleBook) -> Bool {
        isOnTime(timer.due, of: timer.id.rule, by: book)
            && initialPolls.hadGoodPolls(scopesEvaluated(by: timer, of: book).map(\.scope), at: timer.due)
    }

    /// - Parameters:
    ///   - limit: fires only timers that are due at this time and wait for no poll; nil for all that are due now, each after the earlier
    ///     events on the bus.
    ///   - known: the first events on the bus, if they were read already.
    ///   - loop: the loop whose turn this is.
    @discardableResult
    private func fireDue(
        at limit: Timestamp?, before known: [StoredEvent]? = nil, for loop: LoopTurns.Loop
    ) async throws(StoreError) -> Int {
        var fired = 0
        // Two batches, so that the facts for the second are read while the first is stored.
        var count = 2 * context.timersAtOnce
        defer { context.readAhead.keep(nil) }
        // The ends of silences and of quiet times come before the timers of the same moment.
        if let book = shelf.book {
            try await context.silences.update(for: book, in: context)
            try await context.held.release(by: book, in: context)
        }
        while !Task.isCancelled, let active = try await shelf.current(in: context) {
            let book = active.book
            let now = context.clock.now
            context.turns.begin(loop, at: context.clock.elapsed)
            let due = try await context.store.dueTimers(
                at: min(limit ?? now, now), limit: count, besides: waiting(by: book, at: now))
            let ready = due.filter { timer in
                // The timer of a rule that is being installed waits until the rule is in force.
                book.contains(timer.id.rule)
                    && (limit == nil || timer.id.kind == .group || timer.id.kind == .existing || isOnTime(timer, by: book))
            }
            if ready.isEmpty {
                if due.count < count { break }
                // Waiting timers must not delay those behind them.
                count *= 2
                continue
            }
            var unrouted: [StoredEvent] = []
            if ready.contains(where: \.id.kind.looksAtTasks) {
                unrouted = if let known { known } else { try await context.store.unrouted(limit: Self.maxEvents) }
            }
            if limit == nil, try await route(unrouted, before: ready) { continue }
            let batch = firstBatch(of: ready, before: unrouted, by: active)
            var earlier = EarlierTasks.none
            if let firstPlace = batch.first.map({ place(of: $0, by: active) }), firstPlace < .max {
                earlier = EarlierTasks(after: firstPlace, isEmpty: unrouted.isEmpty, in: context.store, by: book)
            }
            // Facts cannot be read ahead while the rules must see tasks in an earlier state.
            let next = earlier.isEmpty ? firstBatch(of: Array(ready.dropFirst(batch.count)), before: [], by: active) : []
            let started = ContinuousClock.now
            let (routing, isStored) = try await context.route(
                book.match(batch), by: active, on: shelf, earlier: earlier, next: next.isEmpty ? nil : book.match(next))
            guard isStored else { continue }
            for event in routing.events where event.type == .scheduleDue { context.report(event) }
            context.report(routing, since: started)
            reportMissingPolls(batch, by: book, at: now)
            fired += routing.fired.count
        }
        return fired
    }

    /// The timers that wait: for the first poll of the sources whose tasks their rules read, or for the first good poll of the sources
    /// on which their result depends.
    private func waiting(by book: RuleBook, at now: Timestamp) -> WaitingTimers {
        var waiting = WaitingTimers()
        if initialPolls.areGood { return waiting }
        for source in book.context.sources where initialPolls.mustWait(for: source.scope, at: now) {
            // The logins of a connection come with the polls of its sources.
            waiting.sources.formUnion([source.name, source.connection])
        }
        let isStarting = now < initialPolls.started + InitialPolls.timeout
        guard isStarting || !waiting.sources.isEmpty else { return waiting }
        for rule in book.rules.map(\.name) {
            if isStarting, initialPolls.isMissing(book.scopesRead(by: rule)) { waiting.rules.insert(rule) }
            if !waiting.sources.isDisjoint(with: book.sourcesEndingAbsences(of: rule)) { waiting.absences.insert(rule) }
        }
        return waiting
    }

    /// The sources whose polls decide the result of a timer.
    private func scopesEvaluated(by timer: RuleTimer, of book: RuleBook) -> [(source: String, scope: Scope.ID)] {
        guard timer.id.kind.reevaluatesCondition, let source = timer.source else { return [] }
        let names = timer.id.kind == .absence ? [source] + book.sourcesEndingAbsences(of: timer.id.rule) : [source]
        return names.flatMap(book.sources(polledFor:))
    }

    /// Emits a notice, once for each source, that timers have given up waiting for its good poll.
    private func reportMissingPolls(_ timers: [RuleTimer], by book: RuleBook, at now: Timestamp) {
        if initialPolls.areGood { return }
        for timer in timers {
            for (source, scope) in scopesEvaluated(by: timer, of: book) where initialPolls.isNewlyOverdue(scope, at: now) {
                let text =
                    "Source \(source) has had no good poll for 15 minutes. Rules that waited for it now use the stored tasks; "
                    + "see `bellhop status`."
                context.signals.emit(.notice(source: source, text: text))
            }
        }
    }

    /// The first timers that are decided together: all come before the same events on the bus.
    private func firstBatch(
        of timers: [RuleTimer], before unrouted: [StoredEvent], by active: RuleShelf.ActiveRules
    ) -> [RuleTimer] {
        func place(of timer: RuleTimer) -> Int64 { self.place(of: timer, by: active) }
        guard let first = timers.first, !unrouted.isEmpty else { return Array(timers.prefix(context.timersAtOnce)) }
        let firstPlace = place(of: first)
        let end = unrouted.first { $0.sequence > firstPlace }?.event.time ?? .distantFuture
        let batch = timers.prefix(context.timersAtOnce).prefix {
            $0.due <= max(end, first.due) && place(of: $0) == firstPlace
                && $0.id.kind.reevaluatesCondition == first.id.kind.reevaluatesCondition
        }
        return Array(batch)
    }

    /// The place on the bus up to which events come before the timer.
    private func place(of timer: RuleTimer, by active: RuleShelf.ActiveRules) -> Int64 {
        // The rule sees only events after its own place. It sees tasks that are created later through these events.
        if timer.id.kind == .existing { return active.since[timer.id.rule] ?? .max }
        return isOnTime(timer, by: active.book) ? .min : .max
    }

    /// Routes those of these events that come before the first timer; false if there are none.
    private func route(_ events: [StoredEvent], before timers: [RuleTimer]) async throws(StoreError) -> Bool {
        guard let timer = timers.first, let active = try await shelf.current(in: context) else { return false }
        // A timer that came due before the sources were polled comes after the events of their polls.
        let isLate = timer.id.kind.reevaluatesCondition && !isOnTime(timer, by: active.book)
        let earlier = isLate ? events : Array(events.prefix { $0.event.time < timer.due })
        if earlier.isEmpty { return false }
        guard let next = try await next(of: earlier, in: events, by: active.book) else { return true }
        return try await Router(context, shelf: shelf).route(next, by: active) > 0
    }
}
