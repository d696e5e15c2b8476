extension Simulation {
    /// A report while a scenario is played.
    public enum Scene: Sendable, Hashable {
        /// A client has begun to watch the instance's tasks.
        case watched
        case happened(Happening)
        /// The next event, in this many microseconds of the simulation's clock.
        case comes(Happening, in: Int64)
    }

    /// Plays a scenario by the simulation's clock, until it ends or the task is cancelled.
    ///
    /// - Parameters:
    ///   - pause: real time between two looks at the clock.
    ///   - tell: called for each event, and for the next one whenever it changes.
    ///   - isReady: whether the next events may happen when their time has come; by default, always.
    public func play(
        _ scenario: Scenario, pause: Duration = .milliseconds(50), tell: (Scene) -> Void = { _ in },
        isReady: () -> Bool = { true }
    ) async throws {
        var scenario = scenario
        var watchers = instance.counts.watchers
        var coming: Scenario.Due?
        while let next = scenario.next {
            let now = now()
            if next != coming {
                tell(.comes(next.happening, in: max(next.time - now, 0)))
                coming = next
            }
            while let due = scenario.nextTime, due <= now, isReady() {
                for happening in scenario.tick(to: due) {
                    instance.apply(happening)
                    tell(.happened(happening))
                }
            }
            let current = instance.counts.watchers
            if current > watchers {
                watchers = current
                scenario.welcome(at: now)
                tell(.watched)
            }
            try await Task.sleep(for: pause)
        }
    }
}
