import BellhopCore
import Synchronization
import Testing

@testable import bellhop

@Suite struct DemoClockTests {
    private let real = Real()
    private let clock: DemoClock

    init() {
        let real = real
        clock = DemoClock(startingAt: Demo.start, speed: 40) { real.time.withLock { $0 } }
    }

    private func pass(_ time: Duration) { real.time.withLock { $0 += time } }

    @Test func `the clock runs at the given speed`() {
        for _ in 0..<50 {
            pass(.milliseconds(20))
            clock.move()
        }
        #expect(clock.now == Demo.start + .seconds(40))
    }

    @Test func `the clock stands still while the program is too busy to move it`() {
        let end = Demo.start + DemoClock.longestStep * 40
        pass(.seconds(3))
        for _ in 0..<3 { #expect(clock.now == end) }
        clock.move()
        #expect(clock.now == end)
        pass(.milliseconds(10))
        #expect(clock.now == end + .milliseconds(400))
    }

    @Test func `a sleeper wakes at its deadline`() async throws {
        let clock = DemoClock(startingAt: Demo.start, speed: 120)
        async let _ = clock.run()
        try await clock.sleep(for: .seconds(30))
        #expect(clock.now >= Demo.start + .seconds(30))
    }
}

/// A real time that the test moves; a class with a mutex, because the clock reads it from any task.
private final class Real: Sendable { let time = Mutex(Duration.zero) }
