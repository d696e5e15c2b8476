import BellhopCore
import Dispatch
import Synchronization

/// Lets concurrent writers share one transaction, and so one wait for the disk.
///
/// A class over a lock, because callers on all tasks share it. The first caller starts draining the queue; while its transaction
/// is being written, others queue up for the next. The work runs on the connection's own queue, where cancelling the caller's
/// task has no effect: each write is completed, and its caller gets the result.
final class GroupCommit: Sendable {
    /// One caller's request.
    private struct Job: Sendable {
        /// Does the work, and returns the closure to call once the work is on disk. May run again if its group failed.
        let perform: @Sendable (Session) throws -> @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    /// A job whose work is done, and the closure to call once the work is on disk.
    private struct DoneJob {
        var job: Job
        var settle: @Sendable () -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var isDraining = false
        var isClosed = false
        var commits = 0
        var isCacheCheckScheduled = false
    }

    private let connections: Connections
    /// Nil for a database in memory.
    private let log: WriteAheadLog?
    private let faults: StatementFaults?
    private let idleTime: DispatchTimeInterval
    private let requireFile: @Sendable () throws -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - idleTime: how long after a burst the memory of the page cache is released, if few writes follow.
    ///   - requireFile: throws if the path no longer names the opened file: writes to a deleted file are lost.
    init(
        _ connections: Connections, log: WriteAheadLog?, faults: StatementFaults?, idleTime: DispatchTimeInterval = .seconds(3),
        requireFile: @escaping @Sendable () throws -> Void = {}
    ) {
        self.connections = connections
        self.log = log
        self.faults = faults
        self.idleTime = idleTime
        self.requireFile = requireFile
    }

    /// How many transactions were committed.
    var commits: Int { state.withLock { $0.commits } }

    /// How many callers wait for the next transaction.
    var waiting: Int { state.withLock { $0.waiting.count } }

    /// Runs work in a transaction; its changes are on disk when this returns. A failure of one caller does not affect the others.
    ///
    /// - Parameter stored: called on the writing thread once the changes are on disk.
    func write<Value: Sendable>(
        stored: @escaping @Sendable (Value) -> Void = { _ in }, _ work: @escaping @Sendable (Session) throws -> Value
    ) async -> Result<Value, any Error> {
        await withCheckedContinuation { continuation in
            let job = Job(
                perform: { session in
                    let value = try work(session)
                    return {
                        stored(value)
                        continuation.resume(returning: .success(value))
                    }
                },
                fail: { continuation.resume(returning: .failure($0)) })
            if !enqueue(job, closing: false) { job.fail(SQLiteError.closed) }
        }
    }

    /// Accepts no more work, and returns once all earlier work is written.
    func close() async {
        await withCheckedContinuation { continuation in
            let last = Job(perform: { _ in { continuation.resume() } }, fail: { _ in continuation.resume() })
            if !enqueue(last, closing: true) { continuation.resume() }
        }
    }

    /// Adds a job to the queue, and starts draining it if necessary. False if the queue was closed before.
    private func enqueue(_ job: Job, closing: Bool) -> Bool {
        let (isOpen, isFirst) = state.withLock { state in
            if state.isClosed { return (false, false) }
            state.waiting.append(job)
            defer { state.isDraining = true }
            state.isClosed = closing
            return (true, !state.isDraining)
        }
        if isFirst {
            connections.write { [self] access in
                switch access {
                case .success(let database): drain(Session(database, faults: faults))
                case .failure(let error):
                    while let group = takeGroup() { for job in group { job.fail(error) } }
                }
            }
        }
        return isOpen
    }

    private func drain(_ session: Session) {
        while let group = takeGroup() {
            var error = commitTogether(group, session)
            if let log, (error as? SQLiteError)?.isFull == true {
                // This makes room in the log, and lets the database grow again if the disk has room now.
                log.checkpoint(session.database, isFull: true)
                error = commitTogether(group, session)
            }
            if let error {
                // Another program holds the file. This transaction has waited for it; one for each job would wait as long again.
                let isBusy = (error as? SQLiteError)?.isBusy == true
                if group.count == 1 || isBusy {
                    for job in group { fail(job, error) }
                } else if !commitWithSavepoints(group, session) {
                    for job in group {
                        if let error = commitTogether([job], session) { fail(job, error) }
                    }
                }
            }
            log?.checkpoint(session.database)
        }
        if session.database.cachedBytes > Self.smallCache { scheduleCacheCheck() }
    }

    /// A page cache of at most this many bytes is kept even when little is written.
    private static let smallCache = 4 << 20

    /// With fewer commits than this during the idle time, a burst is over.
    private static let fewCommits = 30

    /// Releases the memory of the page cache once a burst of writes is over.
    private func scheduleCacheCheck() {
        let commits: Int? = state.withLock { state in
            if state.isCacheCheckScheduled { return nil }
            state.isCacheCheckScheduled = true
            return state.commits
        }
        guard let commits else { return }
        connections.write(after: idleTime) { [self] access in
            guard case .success(let database) = access else { return }
            let isIdle = state.withLock { state in
                state.isCacheCheckScheduled = false
                return state.commits - commits < Self.fewCommits
            }
            if isIdle { database.giveBackMemory() } else { scheduleCacheCheck() }
        }
    }

    /// The jobs of the next transaction; nil if none wait, and then draining has ended.
    private func takeGroup() -> [Job]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isDraining = false
                return nil
            }
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    /// Runs all jobs in one transaction. Returns the error if it failed; then no caller has its result yet.
    private func commitTogether(_ group: [Job], _ session: Session) -> (any Error)? {
        var done: [DoneJob] = []
        done.reserveCapacity(group.count)
        do {
            try session.run(SQL.begin)
            for job in group { done.append(DoneJob(job: job, settle: try job.perform(session))) }
            try commit(session)
        } catch {
            rollback(session)
            return error
        }
        settle(done)
        return nil
    }

    /// Runs all jobs in one transaction with a savepoint for each, so that a failing job does not stop the others. False if the whole
    /// transaction failed; then no caller has its result yet.
    private func commitWithSavepoints(_ group: [Job], _ session: Session) -> Bool {
        var done: [DoneJob] = []
        var failed: [(Job, any Error)] = []
        do {
            try session.run(SQL.begin)
            for job in group {
                try session.run(SQL.savepoint)
                do {
                    let settle = try job.perform(session)
                    try session.run(SQL.release)
                    done.append(DoneJob(job: job, settle: settle))
                } catch {
                    guard session.database.isInTransaction else { return false }
                    try session.run(SQL.rollbackToSavepoint)
                    try session.run(SQL.release)
                    failed.append((job, error))
                }
            }
            try commit(session)
        } catch {
            rollback(session)
            return false
        }
        settle(done)
        for (job, error) in failed { fail(job, error) }
        return true
    }

    /// Answers the callers whose changes are committed. The file may have been lost since it was checked before the commit.
    private func settle(_ done: [DoneJob]) {
        do {
            try requireFile()
        } catch {
            for one in done { one.job.fail(error) }
            return
        }
        for one in done { one.settle() }
    }

    /// Answers a caller whose work failed, with the loss of the file if that is the cause.
    private func fail(_ job: Job, _ error: any Error) {
        do {
            try requireFile()
        } catch let loss {
            return job.fail(loss)
        }
        job.fail(error)
    }

    /// Commits nothing to a lost file: if it comes back, it must not have claims that no caller knows of.
    private func commit(_ session: Session) throws {
        try requireFile()
        try session.run(SQL.commit)
        state.withLock { $0.commits += 1 }
    }

    /// Leaves no transaction open. The caller gets the original error; if the rollback fails too, SQLite has rolled back by
    /// itself or the next BEGIN reports it.
    private func rollback(_ session: Session) {
        if session.database.isInTransaction { _ = try? Session(session.database).run(SQL.rollback) }
    }
}
