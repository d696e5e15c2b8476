public import BellhopCore
import Glibc

/// The machine's wall clock, optionally running faster than time does.
public struct SystemClock: AgentClock {
    /// How far a sleep goes before it looks at the clock again, so that a clock that was set is noticed.
    private static let stride = Duration.seconds(30)

    private let origin: Timestamp
    private let start: Timestamp
    private let speed: Double

    /// The wall clock as it is.
    public init() {
        origin = .epoch
        start = .epoch
        speed = 1
    }

    /// A clock for trying things out: it stands at `start` now, and runs `speed` times as fast as time.
    public init(startingAt start: Timestamp, speed: Double) {
        origin = Self.wall
        self.start = start
        self.speed = max(speed, 0.001)
    }

    public var now: Timestamp {
        if speed == 1, start == .epoch { return Self.wall }
        let elapsed = Double(Self.wall.microseconds - origin.microseconds)
        return Timestamp(microseconds: start.microseconds + Int64(elapsed * speed))
    }

    public func sleep(until deadline: Timestamp) async throws {
        while true {
            try Task.checkCancellation()
            let left = deadline - now
            guard left > .zero else { return }
            try await Task.sleep(for: min(left / speed, Self.stride), tolerance: nil)
        }
    }

    public func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: duration / speed, tolerance: nil)
    }

    public var elapsed: Duration {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return (.seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))) * speed
    }

    private static var wall: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }
}
