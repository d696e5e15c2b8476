/// Runs tasks on a thread that is there for something else, between its other work: so that what they wait for there, and what waits
/// for them, changes no threads. For work that neither blocks nor takes long.
public final class BorrowedThread: TaskExecutor {
    private let run: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// - Parameter run: runs work on the thread, in the order of its calls.
    public init(_ run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) { self.run = run }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        run { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
