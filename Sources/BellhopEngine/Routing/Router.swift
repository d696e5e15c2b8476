public import BellhopCore
import BellhopRules
import BellhopTelemetry

/// Reads events from the bus, matches them with the rules and stores the resulting deliveries, one transaction for each batch.
public struct Router: Sendable {
    private let context: EngineContext
    private let shelf: RuleShelf
    private let batch: Int
    private let timers: TimerLoop?

    /// - Parameters:
    ///   - timers: fires the timers that come due before the events; nil if timers fire elsewhere.
    ///   - batch: the most events that one transaction routes.
    public init(_ context: EngineContext, shelf: RuleShelf, timers: TimerLoop? = nil, batch: Int = 1000) {
        (self.context, self.shelf, self.timers, self.batch) = (context, shelf, timers, batch)
    }

    /// Routes until the bus is empty, then waits for the bell; returns when cancelled.
    ///
    /// It runs on the store's executor, as the dispatcher does: the events of a poll are then matched, stored and claimed on one thread.
    public func run() async { await withTaskExecutorPreference(context.store.executor) { await work() } }

    private func work() async {
        while !Task.isCancelled {
            do {
                try await routePending()
                if !context.unstored.isEmpty {
                    try await context.storeEvents()
                    continue
                }
                context.turns.end(.router)
                await context.bells.router.wait(until: nil, on: context.clock)
            } catch {
                context.turns.end(.router)
                context.report(error, doing: "routing")
                guard await context.pauseAfterStoreError() else { return }
            }
        }
    }

    /// Routes all waiting events and returns their number.
    @discardableResult
    public func routePending() async throws(StoreError) -> Int {
        var routed = 0
        var size = batch
        while !Task.isCancelled, let active = try await shelf.current(in: context) {
            context.turns.begin(.router, at: context.clock.elapsed)
            let first = try await context.store.unrouted(limit: size)
            if first.isEmpty { break }
            let next =
                if let timers { try await timers.next(of: first, by: active.book) } else {
                    NextEvents(of: first, in: first, { NextEvents.Moment(time: $0.time) })
                }
            // Timers have fired, and may have made events that come first.
            guard let next else { continue }
            let count = try await route(next, by: active)
            // Other rules were installed meanwhile.
            if count == 0 { continue }
            // After a batch that was too large for one transaction, read fewer events, so that fewer are matched twice.
            size = count < next.events.count ? count : min(size * 2, batch)
            routed += count
        }
        return try await routed + routeReplays()
    }

    /// Routes the events that people asked to replay; returns their number.
    private func routeReplays() async throws(StoreError) -> Int {
        var routed = 0
        while !Task.isCancelled, let active = try await shelf.current(in: context) {
            let replays = try await context.store.replays(limit: Self.replaysAtOnce)
            if replays.isEmpty { break }
            context.turns.begin(.router, at: context.clock.elapsed)
            let paused = Set(active.since.filter { $0.value == .max }.keys)
            for replay in replays {
                let started = ContinuousClock.now
                let (routing, isStored) = try await context.route(
                    active.book.match(replay, paused: paused), by: active, on: shelf)
                if isStored { context.report(routing, since: started) }
                routed += 1
            }
        }
        return routed
    }

    private static let replaysAtOnce = 100

    /// Routes these events, or only as many as fit into one transaction; returns their number: 0 if other rules were installed meanwhile.
    func route(_ next: NextEvents, by active: RuleShelf.ActiveRules) async throws(StoreError) -> Int {
        let (began, started) = (context.clock.now, ContinuousClock.now)
        let events = next.events
        let earlier = next.areOfSchedules ? EarlierTasks(after: .min, in: context.store, by: active.book) : .none
        let (routing, isStored) = try await context.route(
            active.book.match(events, since: active.since), by: active, on: shelf, earlier: earlier)
        if isStored {
            context.report(routing, since: started)
            if let tracer = context.tracer {
                tracer.routed(
                    events.prefix(routing.routed.count).map(\.event.id),
                    deliveries: routing.deliveries.reduce(into: [:]) { counts, delivery in
                        if let event = delivery.id.occasion.event { counts[event, default: 0] += 1 }
                    }, from: began, to: context.clock.now)
            }
        }
        return routing.routed.count
    }
}

/// The events to route next, from the beginning of the bus. They keep their order, with one exception. The event of a schedule is
/// routed before other events of the moment at which the schedule came due, even if a poll has stored those first. But a late
/// schedule, which came due while the agent was not running or did not know the tasks yet, is routed after the events that the first
/// polls had stored by then.
struct NextEvents {
    var events: [StoredEvent]
    /// Whether ``events`` come from schedules: then all others are routed after them, even if they are before them on the bus.
    var areOfSchedules = false

    /// When a schedule came due; for a late schedule, when its event was made.
    struct Moment: Equatable {
        var time: Timestamp
        var isLate = false
    }

    /// - Parameters:
    ///   - first: the events before the next timer.
    ///   - known: all events that were read, including those of schedules after `first`.
    ///   - next: when the next timer is due; schedules that came due later wait for it. Nil if there is no timer.
    ///   - moment: when a schedule came due.
    init(of first: [StoredEvent], in known: [StoredEvent], before next: Timestamp? = nil, _ moment: (Event) -> Moment) {
        func isSchedule(_ stored: StoredEvent) -> Bool { stored.event.type == .scheduleDue }
        let schedules = known.filter(isSchedule).map { (stored: $0, moment: moment($0.event)) }
            .filter { $0.moment.time <= next ?? $0.moment.time }
        // The earliest; of several, the first on the bus.
        guard let (schedule, due) = schedules.min(by: { $0.moment.time < $1.moment.time }) else {
            events = first
            return
        }
        events = Array(
            first.prefix { stored in
                if isSchedule(stored) { return false }
                let time = stored.event.time
                return time < due.time || due.isLate && time == due.time && stored.sequence < schedule.sequence
            })
        guard events.isEmpty else { return }
        events = schedules.filter { $0.moment.time == due.time }.prefix { $0.moment == due }.map(\.stored)
        areOfSchedules = true
    }
}
