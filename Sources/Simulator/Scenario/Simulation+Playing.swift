extension Simulation {
    /// What has happened in a scenario while it is played, or what comes next.
    public enum PlayReport: Sendable, Hashable {
        /// A client has begun to watch the instance's tasks.
        case watched
        case happened(ScenarioEvent)
        /// The next event, in this many microseconds of the simulation's clock.
        case comes(ScenarioEvent, in: Int64)
    }

    /// Plays a scenario by the simulation's clock, until it ends or the task is cancelled.
    ///
    /// - Parameters:
    ///   - pause: real time between two looks at the clock.
    ///   - report: called for each event, and for the next one whenever it changes.
    ///   - isReady: whether the next events may happen when their time has come; by default, always.
    public func play(
        _ scenario: Scenario, pause: Duration = .milliseconds(50), report: (PlayReport) -> Void = { _ in },
        isReady: () -> Bool = { true }
    ) async throws {
        var scenario = scenario
        var watchers = instance.counts.watchers
        var coming: Scenario.Due?
        while let next = scenario.next {
            let now = now()
            if next != coming {
                report(.comes(next.event, in: max(next.time - now, 0)))
                coming = next
            }
            while let due = scenario.nextTime, due <= now, isReady() {
                for event in scenario.tick(to: due) {
                    instance.apply(event)
                    report(.happened(event))
                }
            }
            let current = instance.counts.watchers
            if current > watchers {
                watchers = current
                scenario.addWatcherEvents(at: now)
                report(.watched)
            }
            try await Task.sleep(for: pause)
        }
    }
}
