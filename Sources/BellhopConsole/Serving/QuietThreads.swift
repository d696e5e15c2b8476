import Glibc
import NIOCore
import NIOPosix

/// Threads beside those that route and deliver, which get the processor first.
final class QuietThreads: TaskExecutor {
    private let pool: NIOThreadPool

    init(count: Int) {
        pool = NIOThreadPool(numberOfThreads: count)
        pool.start()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.submit { _ in
            Self.step()
            job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }

    func stop() async { try? await pool.shutdownGracefully() }  // nothing runs on them any more

    /// An event loop on such a thread.
    static func loop() -> MultiThreadedEventLoopGroup {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        group.next().execute { step() }
        return group
    }

    /// On Linux the priority is the thread's own (setpriority(2)).
    private static func step() {
        if isQuiet.currentValue != nil { return }
        isQuiet.currentValue = Mark()
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
    }

    /// With this niceness, a thread gets about a thirtieth of a processor while others compete for it.
    private static let niceness: Int32 = 15

    private final class Mark: Sendable {}
    private static let isQuiet = ThreadSpecificVariable<Mark>()
}
