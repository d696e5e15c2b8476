import Synchronization

/// Which delivery each entry proves that was found at a system, so that none proves two. A class over a lock, because deliveries that look
/// at the same time share it; what was proved before this process began comes with each attempt.
final class ClaimedEntries: Sendable {
    private struct State {
        var deliveries: [String: String] = [:]
        var order: [String] = []
    }

    private let state = Mutex(State())
    /// More than can be looked for at one time.
    private static let most = 10_000

    /// Takes an entry for a delivery; false where another has it.
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
