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
        // A `timespec`, whose members an optimised build ascribes to a module that nobody may import.
        var time = (seconds: 0, nanoseconds: 0)
        withUnsafeMutableBytes(of: &time) { bytes in
            _ = clock_gettime(CLOCK_THREAD_CPUTIME_ID, bytes.baseAddress!.assumingMemoryBound(to: timespec.self))
        }
        return Int64(time.seconds) * 1_000_000_000 + Int64(time.nanoseconds)
    }
}
