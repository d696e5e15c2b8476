public import BellhopCore

/// Keeps the store tidy: forgets what is old, and takes up attempts whose lease ran out.
public struct Maintenance: Sendable {
    private let surroundings: Surroundings
    private let retention: Retention
    private let rescueEvery = Duration.seconds(60)
    private let pruneEvery = Duration.seconds(3600)

    public init(_ surroundings: Surroundings, retention: Retention) {
        self.surroundings = surroundings
        self.retention = retention
    }

    /// Looks every minute, and prunes every hour; returns when cancelled.
    public func run() async {
        var prunedAt = Timestamp.distantPast
        while !Task.isCancelled {
            let now = surroundings.clock.now
            do {
                try await rescue()
                if now >= prunedAt + pruneEvery {
                    try await prune()
                    prunedAt = now
                }
            } catch {
                surroundings.signals.emit(.storeFailed(doing: "tidying up", error))
            }
            guard (try? await surroundings.clock.sleep(until: now + rescueEvery)) != nil else { return }
        }
    }

    public func rescue() async throws(StoreError) {
        let count = try await surroundings.store.rescue(everything: false, at: surroundings.clock.now)
        guard count > 0 else { return }
        surroundings.signals.emit(.rescued(count: count))
        surroundings.bells.dispatcher.ring()
    }

    public func prune() async throws(StoreError) {
        let rows = try await surroundings.store.prune(retention, at: surroundings.clock.now)
        if rows > 0 { surroundings.signals.emit(.pruned(rows: rows)) }
    }
}
