public import BellhopCore
import Glibc

/// The machine's wall clock, optionally accelerated.
public struct SystemClock: AgentClock {
    /// The longest sleep before it reads the clock again, to notice when the clock was set.
    private static let stride = Duration.seconds(30)

    private let origin: Timestamp
    private let start: Timestamp
    private let speed: Double

    /// The plain wall clock.
    public init() {
        origin = .epoch
        start = .epoch
        speed = 1
    }

    /// A clock for trials: it shows `start` now, and runs `speed` times as fast as real time.
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
