public import BellhopCore

/// Keeps the store tidy: forgets what is old, and takes up attempts whose lease ran out.
public struct Maintenance: Sendable {
    private let surroundings: Surroundings
    private let retention: Retention
    private let firstLeaseEnd: @Sendable () -> Timestamp?
    private let rescueEvery = Duration.seconds(60)
    private let pruneEvery = Duration.seconds(3600)
    /// By how much the clock may differ from the time that passed before it is said to have jumped.
    private let tolerance = Duration.seconds(30)

    /// - Parameter firstLeaseEnd: when the first of the leases ends that this process has in flight; nil when there is none.
    public init(
        _ surroundings: Surroundings, retention: Retention, firstLeaseEnd: @escaping @Sendable () -> Timestamp? = { nil }
    ) {
        self.surroundings = surroundings
        self.retention = retention
        self.firstLeaseEnd = firstLeaseEnd
    }

    /// Looks every minute, and prunes every hour; returns when cancelled.
    public func run() async {
        var prunedAt = Timestamp.distantPast
        while !Task.isCancelled {
            let now = surroundings.clock.now
            do throws(StoreError) {
                try await rescue()
                // The store itself tells of a delivery that it can no longer read.
                surroundings.bells.router.ring()
                if now >= prunedAt + pruneEvery || now < prunedAt {
                    try await prune()
                    prunedAt = now
                }
            } catch {
                surroundings.signals.emit(.storeFailed(doing: "tidying up", error))
            }
            let asleep = surroundings.clock.now
            guard (try? await surroundings.clock.sleep(for: rescueEvery)) != nil else { return }
            let jump = surroundings.clock.now - asleep - rescueEvery
            if abs(jump.components.seconds) >= tolerance.components.seconds { surroundings.signals.emit(.clockJumped(by: jump)) }
        }
    }

    /// Takes up attempts whose lease ran out without an outcome; none of those in flight, even where the clock has jumped past the
    /// end of their leases.
    public func rescue() async throws(StoreError) {
        let now = surroundings.clock.now
        let moment = firstLeaseEnd().map { min(now, Timestamp(microseconds: $0.microseconds - 1)) } ?? now
        let count = try await surroundings.store.rescue(everything: false, at: moment)
        guard count > 0 else { return }
        surroundings.signals.emit(.rescued(count: count))
        surroundings.bells.dispatcher.ring()
    }

    public func prune() async throws(StoreError) {
        let rows = try await surroundings.store.prune(retention, at: surroundings.clock.now)
        if rows > 0 { surroundings.signals.emit(.pruned(rows: rows)) }
    }
}
