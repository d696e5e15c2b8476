public import BellhopCore
import BellhopRules

/// Fires the schedules of rules when they are due, and after a start those that were missed.
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

    /// A due timer that could not fire yet waits for the bell of its installation or of a first poll, or a moment at most.
    private func nextLook(_ due: Timestamp) -> Timestamp {
        let now = surroundings.clock.now
        return due > now ? due : now + .seconds(1)
    }

    /// How often to check the clock while sleeping, to notice that it was set.
    private static let stride = Duration.seconds(60)

    /// Moves timers forward that are due later than their schedules say, because the clock was set back.
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

    /// Fires everything that is due now; returns the number of timers.
    @discardableResult
    public func fireDue() async throws(StoreError) -> Int { try await fireDue(keepingBack: false) }

    /// - Parameter keepingBack: whether to postpone rules that read tasks of sources not polled yet.
    @discardableResult
    private func fireDue(keepingBack: Bool) async throws(StoreError) -> Int {
        guard let book = shelf.book else { return 0 }
        let now = surroundings.clock.now
        // The timer of a rule that is being installed waits until it is in force.
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
