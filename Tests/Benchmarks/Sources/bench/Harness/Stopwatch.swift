import Glibc

/// Measures time on a monotonic clock.
enum Stopwatch {
    /// The processor time of this thread for work that never waits: the time that it would take on an otherwise idle core.
    static func processorSeconds(_ work: () throws -> Void) rethrows -> Double {
        let start = processorTime
        try work()
        return processorTime - start
    }

    private static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    static func seconds(_ work: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try work()
        return (ContinuousClock.now - start).inSeconds
    }

    static func seconds(_ work: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await work()
        return (ContinuousClock.now - start).inSeconds
    }
}

extension Duration {
    var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}

extension [Double] {
    var median: Double { quantile(0.5) }

    /// The quantile, interpolated linearly.
    func quantile(_ share: Double) -> Double {
        guard !isEmpty else { return .nan }
        let sorted = sorted()
        let place = share * Double(count - 1)
        let below = Int(place)
        let above = Swift.min(below + 1, count - 1)
        return sorted[below] + (sorted[above] - sorted[below]) * (place - Double(below))
    }
}
