/// Runs tasks on a thread that has other work, in the pauses of that work. Tasks that wait for that work, or that it waits for, then
/// need no change of threads. Only for tasks that neither block nor take long.
public final class BorrowedThread: TaskExecutor {
    private let run: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// - Parameter run: runs work on the thread, in the order of its calls.
    public init(_ run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) { self.run = run }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        run { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
