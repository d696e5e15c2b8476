extension Simulation {
    /// What is told of a scenario while it is played.
    public enum Scene: Sendable, Hashable {
        /// Somebody has begun to watch the instance's tasks.
        case watched
        case happened(Happening)
        /// What comes next, in so many microseconds of the simulation's clock.
        case comes(Happening, in: Int64)
    }

    /// Lets a scenario happen by the simulation's clock, until it ends or the task is cancelled.
    ///
    /// - Parameters:
    ///   - pause: real time between two looks at the clock.
    ///   - tell: told of each thing that happens, and of the one that comes next whenever that is another one.
    public func play(
        _ scenario: Scenario, pause: Duration = .milliseconds(50), tell: (Scene) -> Void = { _ in }
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
            for happening in scenario.tick(to: now) {
                instance.apply(happening)
                tell(.happened(happening))
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
