public import BellhopCore

/// Deletes old data from the store, and recovers attempts whose lease ran out.
public struct Maintenance: Sendable {
    private let context: EngineContext
    private let retention: Retention
    private let firstLeaseEnd: @Sendable () -> Timestamp?
    private let rescueEvery = Duration.seconds(60)
    private let pruneEvery = Duration.seconds(3600)
    /// A larger difference between the clock and the elapsed time is reported as a jump.
    private let tolerance = Duration.seconds(30)

    /// - Parameter firstLeaseEnd: when the first lease in flight of this process ends; nil if there is none.
    public init(
        _ context: EngineContext, retention: Retention, firstLeaseEnd: @escaping @Sendable () -> Timestamp? = { nil }
    ) {
        self.context = context
        self.retention = retention
        self.firstLeaseEnd = firstLeaseEnd
    }

    /// Rescues every minute and prunes every hour; returns when cancelled.
    public func run() async {
        let clock = context.clock
        var prunedAt = Timestamp.distantPast
        var running: RunningTime?
        var elapsed = clock.elapsed
        while !Task.isCancelled {
            let now = clock.now
            context.turns.begin(.maintenance, at: clock.elapsed)
            do throws(StoreError) {
                try await rescue()
                // The store adds an event for a delivery that it can no longer read.
                context.bells.router.ring()
                var known: RunningTime
                if let running { known = running } else { known = try await storedRunningTime(at: now) }
                let passed = clock.elapsed - elapsed
                elapsed += passed
                let isJump = running != nil && known.pass(to: now, elapsed: passed)
                running = known
                if isJump { try await store(known) }
                if now >= prunedAt + pruneEvery || now < prunedAt {
                    try await store(known)
                    // Deleting many rows takes long, but hangs nothing: the store does other work in between.
                    context.turns.end(.maintenance)
                    try await prune(known)
                    prunedAt = now
                }
            } catch {
                context.report(error, doing: "maintaining the store")
            }
            context.turns.end(.maintenance)
            let asleep = clock.now
            guard (try? await clock.sleep(for: rescueEvery)) != nil else { return }
            let jump = clock.now - asleep - rescueEvery
            if abs(jump.components.seconds) >= tolerance.components.seconds { context.signals.emit(.clockJumped(by: jump)) }
        }
    }

    /// Recovers attempts whose lease ended without an outcome. Attempts in flight continue, even if the clock has jumped past their
    /// leases.
    public func rescue() async throws(StoreError) {
        let now = context.clock.now
        let moment = firstLeaseEnd().map { min(now, Timestamp(microseconds: $0.microseconds - 1)) } ?? now
        let count = try await context.store.rescue(at: moment)
        guard count > 0 else { return }
        context.signals.emit(.rescued(count: count))
        context.bells.dispatcher.ring()
    }

    /// Deletes old data, unless that was done within the last hour. Ages are measured in time that the agent has run (``RunningTime``).
    public func pruneIfDue() async throws(StoreError) {
        let now = context.clock.now
        if let latest = try await note()?.latest, latest <= now, now < latest + pruneEvery { return }
        let running = try await storedRunningTime(at: now)
        try await prune(running)
        try await store(running)
    }

    private func prune(_ running: RunningTime) async throws(StoreError) {
        let rows = try await context.store.prune(running.inClockTime(retention), at: running.latest)
        if rows > 0 { context.signals.emit(.pruned(rows: rows)) }
    }

    /// The stored ``RunningTime``, advanced to now.
    private func storedRunningTime(at now: Timestamp) async throws(StoreError) -> RunningTime {
        var running = try await note() ?? RunningTime(at: now)
        running.resume(at: now)
        return running
    }

    /// The ``RunningTime`` as of the last hour in which data was deleted.
    private func note() async throws(StoreError) -> RunningTime? {
        do {
            return try await context.store.note(RunningTime.note).flatMap { RunningTime(json: $0) }
        } catch {
            throw StoreError(noting: error)
        }
    }

    private func store(_ running: RunningTime) async throws(StoreError) {
        do {
            try await context.store.setNote(RunningTime.note, to: running.json)
        } catch {
            throw StoreError(noting: error)
        }
    }
}

extension StoreError {
    /// Why a note could not be read or stored.
    fileprivate init(noting error: any Error) {
        self = (error as? StoreError) ?? StoreError(.other, "The record of elapsed time cannot be read or stored: \(error).")
    }
}
