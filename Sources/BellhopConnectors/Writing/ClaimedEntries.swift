import Synchronization

/// Maps each remote entry that proves a write to its delivery, so that no entry proves two deliveries. An attempt itself has the
/// proofs from before this process began.
///
/// A class with a lock, because concurrent deliveries share it.
final class ClaimedEntries: Sendable {
    private struct State {
        var deliveries: [String: String] = [:]
        var order: [String] = []
    }

    private let state = Mutex(State())
    /// More than can be looked for at the same time.
    private static let most = 10_000

    /// Claims an entry for a delivery; false if another has claimed it.
    func take(_ entry: String, for delivery: String) -> Bool {
        state.withLock { state in
            if let owner = state.deliveries[entry] { return owner == delivery }
            state.deliveries[entry] = delivery
            state.order.append(entry)
            if state.order.count > Self.most { state.deliveries[state.order.removeFirst()] = nil }
            return true
        }
    }

    func isFree(_ entry: String, for delivery: String) -> Bool {
        state.withLock { $0.deliveries[entry].map { $0 == delivery } ?? true }
    }
}
