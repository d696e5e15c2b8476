public import BellhopCore

extension Store {
    /// Claims deliveries that are due for any receiver except these.
    public func claim(
        limit: Int, excluding receivers: Set<String>, by node: NodeID = .only, until: Timestamp, at now: Timestamp
    ) async throws(StoreError) -> [Claim] {
        let quotas = Dictionary(uniqueKeysWithValues: receivers.map { ($0, ClaimQuota(attempts: 0)) })
        return try await claim(limit: limit, quotas: quotas, others: limit, by: node, until: until, at: now).claims
    }

    /// Coalesces the due messages of a receiver as a claim does, but claims nothing. Returns how many became one.
    public func coalesce(receiver: String, above: Int, at now: Timestamp) async throws(StoreError) -> Int {
        let quotas = [receiver: ClaimQuota(attempts: 0, coalescesAbove: above)]
        return try await claim(limit: 0, quotas: quotas, others: 0, by: .only, until: now, at: now).coalesced[receiver] ?? 0
    }

    /// The status, including counts and waits that have expired but are not pruned yet.
    public func status() async throws(StoreError) -> StoreStatus { try await status(at: .distantPast) }
}
