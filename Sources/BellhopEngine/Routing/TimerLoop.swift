public import BellhopCore
import BellhopRules

/// Fires the schedules of rules when they are due, and once for what came due while nobody was there.
public struct TimerLoop: Sendable {
    private let surroundings: Surroundings
    private let shelf: RuleShelf
    private let initialPolls: InitialPolls

    /// - Parameter initialPolls: a rule that reads the tasks of sources waits until each of these was looked at once, so that a digest tells
    ///   of now rather than of the day the agent was stopped. Other rules, and those of other sources, wait for nothing.
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

    /// What is due and could not be fired yet waits for the bell of its installation or of a first look, or a moment at most.
    private func nextLook(_ due: Timestamp) -> Timestamp {
        let now = surroundings.clock.now
        return due > now ? due : now + .seconds(1)
    }

    /// How often it looks at the clock while it sleeps, so that a clock that was set is noticed.
    private static let stride = Duration.seconds(60)

    /// Moves timers that are due later than their schedules say, as they are after the clock was put back.
    private func bringForward() async throws(StoreError) {
        guard let book = shelf.book else { return }
        var nexts: [String: Timestamp] = [:]
        for rule in book.registrations(at: surroundings.clock.now) { nexts[rule.name] = rule.schedule?.next }
        var firings: [TimerFiring] = []
        for timer in try await surroundings.store.dueTimers(at: .distantFuture) {
            guard let next = nexts[timer.rule], next < timer.due else { continue }
            firings.append(TimerFiring(timer: timer, next: next, events: []))
        }
        try await surroundings.store.fire(firings)
    }

    /// Fires everything that is due now. How many timers fired.
    @discardableResult
    public func fireDue() async throws(StoreError) -> Int { try await fireDue(keepingBack: false) }

    /// - Parameter keepingBack: whether what reads tasks of sources that were not looked at yet is left for later.
    @discardableResult
    private func fireDue(keepingBack: Bool) async throws(StoreError) -> Int {
        guard let book = shelf.book else { return 0 }
        let now = surroundings.clock.now
        // A timer of a rule that is being installed is left for when it is in force.
        let rules = Set(book.rules.map(\.name))
        let due = try await surroundings.store.dueTimers(at: now).filter { timer in
            rules.contains(timer.rule) && !(keepingBack && initialPolls.isMissing(book.scopesRead(by: timer.rule)))
        }
        if due.isEmpty { return 0 }
        let firings = due.map { book.fire($0, at: now) }
        try await surroundings.store.fire(firings)
        for event in firings.flatMap(\.events) { surroundings.signals.emit(.event(event)) }
        surroundings.bells.router.ring()
        return due.count
    }
}
