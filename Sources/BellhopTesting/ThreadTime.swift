import Glibc

/// The processor time of this thread. Tests of how a cost grows compare it, because other work of the machine does not count.
public enum ThreadTime {
    /// The shortest time of three runs of the body, which runs on this thread.
    public static func shortest(_ body: () throws -> Void) rethrows -> Duration {
        var least: Duration?
        for _ in 1...3 {
            let start = now
            try body()
            let took = now - start
            least = min(least ?? took, took)
        }
        return least ?? .zero
    }

    private static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
