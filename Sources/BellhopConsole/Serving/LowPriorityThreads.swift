import Glibc
import NIOCore
import NIOPosix

/// Threads with a lower priority than those that route and deliver.
final class LowPriorityThreads: TaskExecutor {
    private let pool: NIOThreadPool

    init(count: Int) {
        pool = NIOThreadPool(numberOfThreads: count)
        pool.start()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.submit { _ in
            Self.lowerPriority()
            job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }

    func stop() async { try? await pool.shutdownGracefully() }  // nothing runs on them any more

    static func loop() -> MultiThreadedEventLoopGroup {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        group.next().execute { lowerPriority() }
        return group
    }

    /// On Linux this sets the priority of the calling thread only (setpriority(2)).
    private static func lowerPriority() {
        if isLowered.currentValue != nil { return }
        isLowered.currentValue = Mark()
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
    }

    /// With this niceness, a thread gets about a thirtieth of a processor while others compete for it.
    private static let niceness: Int32 = 15

    private final class Mark: Sendable {}
    private static let isLowered = ThreadSpecificVariable<Mark>()
}
