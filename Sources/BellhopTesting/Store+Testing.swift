public import BellhopCore

extension Store {
    /// Claims deliveries that are due for any receiver except these.
    public func claim(
        limit: Int, excluding receivers: Set<String>, by node: NodeID = .only, until: Timestamp, at now: Timestamp
    ) async throws(StoreError) -> [Claim] {
        let quotas = Dictionary(uniqueKeysWithValues: receivers.map { ($0, ClaimQuota(attempts: 0)) })
        return try await claim(limit: limit, quotas: quotas, others: limit, by: node, until: until, at: now).claims
    }

    /// The status, including counts and waits that have expired but are not pruned yet.
    public func status() async throws(StoreError) -> StoreStatus { try await status(at: .distantPast) }
}
