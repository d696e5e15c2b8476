import Glibc

/// Converts this thread's computing time into work, for operations whose work cannot be counted: one unit per 64 nanoseconds, in
/// which about 64 bytes of text are read.
///
/// It measures the thread's own time, so other load on the machine does not count.
struct WorkMeter {
    private let start = WorkMeter.now

    /// The work since creation.
    var work: Int { Int(truncatingIfNeeded: (Self.now - start) / 64) }

    private static var now: Int64 {
        // A `timespec`; an optimised build attributes its members to a module that cannot be imported.
        var time = (seconds: 0, nanoseconds: 0)
        withUnsafeMutableBytes(of: &time) { bytes in
            _ = clock_gettime(CLOCK_THREAD_CPUTIME_ID, bytes.baseAddress!.assumingMemoryBound(to: timespec.self))
        }
        return Int64(time.seconds) * 1_000_000_000 + Int64(time.nanoseconds)
    }
}
