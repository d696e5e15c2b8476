public import BellhopCore
import BellhopRules

/// Fires the rules' timers when they are due; after a start, also those that became due while the agent was not running.
public struct TimerLoop: Sendable {
    private let surroundings: Surroundings
    private let shelf: RuleShelf
    private let initialPolls: InitialPolls

    /// - Parameter initialPolls: a rule that reads the tasks of sources waits until each was polled once, so that a digest shows
    ///   the present and not the time of the last stop. Other rules do not wait.
    public init(_ surroundings: Surroundings, shelf: RuleShelf, after initialPolls: InitialPolls = InitialPolls([])) {
        self.surroundings = surroundings
        self.shelf = shelf
        self.initialPolls = initialPolls
    }

    /// Fires what is due, then waits for the next; returns when cancelled.
    public func run() async {
        let patienceEnds = surroundings.clock.now + InitialPolls.patience
        var latest = surroundings.clock.now
        while !Task.isCancelled {
            do {
                if surroundings.clock.now < latest { try await bringForward() }
                latest = surroundings.clock.now
                try await fireDue(keepingBack: latest < patienceEnds)
                let next = try await surroundings.store.nextTimer()
                await surroundings.bells.timers.wait(until: next.map(nextLook), on: surroundings.clock, stride: Self.stride)
            } catch {
                surroundings.signals.emit(.storeFailed(doing: "firing timers", error))
                guard await surroundings.pauseAfterStoreError() else { return }
            }
        }
    }

    /// When to look again. A due timer that could not fire yet is tried again in a second, or once its rule is installed or a
    /// first poll has ended, for which the bell rings.
    private func nextLook(_ due: Timestamp) -> Timestamp {
        let now = surroundings.clock.now
        return due > now ? due : now + .seconds(1)
    }

    /// How often to check the clock while sleeping, to notice that it was set.
    private static let stride = Duration.seconds(60)

    /// Moves schedules forward that are due later than their rules say, because the clock was set back.
    private func bringForward() async throws(StoreError) {
        guard let book = shelf.book else { return }
        var nexts: [RuleTimer.ID: Timestamp] = [:]
        for rule in book.registrations(at: surroundings.clock.now) {
            nexts[RuleTimer.ID(rule: rule.name, kind: .schedule)] = rule.schedule?.next
        }
        var result = RouteResult.stored
        repeat {
            let late = try await surroundings.store.timers(Array(nexts.keys)).filter { $0.due > nexts[$0.id] ?? $0.due }
            if late.isEmpty { return }
            let moved = late.map { TimerChange.set(RuleTimer($0.id, due: nexts[$0.id] ?? $0.due, payload: $0.payload)) }
            result = try await surroundings.store.route(Routing(fired: late, timers: moved))
        } while result != .stored
    }

    /// Decides everything that is due; returns the number of timers.
    @discardableResult
    public func fireDue() async throws(StoreError) -> Int { try await fireDue(keepingBack: false) }

    /// The most timers in one transaction.
    static let batch = 500

    /// - Parameter keepingBack: whether to postpone rules that read tasks of sources not polled yet.
    @discardableResult
    private func fireDue(keepingBack: Bool) async throws(StoreError) -> Int {
        var fired = 0
        var limit = Self.batch
        while !Task.isCancelled, let book = shelf.book {
            let due = try await surroundings.store.dueTimers(at: surroundings.clock.now, limit: limit)
            // The timer of a rule that is being installed waits until it is in force.
            let ready = due.filter { timer in
                book.contains(timer.id.rule) && !(keepingBack && initialPolls.isMissing(book.scopesRead(by: timer.id.rule)))
            }
            if ready.isEmpty {
                if due.count < limit { break }
                // Timers that wait must not hold up those behind them.
                limit *= 2
                continue
            }
            let (routing, result) = try await surroundings.route(book.match(Array(ready.prefix(Self.batch))), by: book)
            guard result == .stored else { continue }
            for event in routing.events where event.type == .scheduleDue { surroundings.signals.emit(.event(event)) }
            fired += routing.fired.count
        }
        return fired
    }
}
