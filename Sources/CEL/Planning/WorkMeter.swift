import Glibc

/// Turns the time that this thread has computed into work, for what nobody can count: one for each 64 nanoseconds, in which about
/// 64 bytes of text are read.
///
/// It is the thread's own time, so that what else the machine does counts for nothing.
struct WorkMeter {
    private let start = WorkMeter.now

    /// The work since it was made.
    var work: Int { Int(truncatingIfNeeded: (Self.now - start) / 64) }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
