public import BellhopCore
public import BellhopRules
import Synchronization

/// The rules in force. Reloading replaces the whole book, between two batches.
///
/// A class over a mutex, because the router, the timers and the reloader share the book.
public final class RuleShelf: Sendable {
    struct Shelved: Sendable {
        var book: RuleBook
        /// The place on the bus after which each rule sees events; `Int64.max` for a paused rule, which sees none.
        var since: [String: Int64]

        mutating func stop(_ rules: [String]) {
            for rule in rules where since[rule] != nil { since[rule] = .max }
        }
    }

    private struct State {
        var shelved: Shelved?
        var installations = 0
        /// How many routings failed that may have paused rules in the store, and after how many of them the pauses were read.
        var (doubts, settled) = (0, 0)
    }

    private let state = Mutex(State())

    public init() {}

    /// The rules in force, without those that the store has paused.
    func current(in surroundings: Surroundings) async throws(StoreError) -> Shelved? {
        let current = state.withLock { $0 }
        guard current.doubts > current.settled else { return current.shelved }
        let paused = try await Self.paused(in: surroundings.store)
        return state.withLock { state in
            // Rules that were installed meanwhile know their pauses.
            if state.installations == current.installations {
                state.shelved?.stop(paused)
                state.settled = max(state.settled, current.doubts)
            }
            return state.shelved
        }
    }

    private static func paused(in store: any Store) async throws(StoreError) -> [String] {
        try await store.pauses().compactMap { if case .rule(let name) = $0.subject { name } else { nil } }
    }

    /// Gives these rules no more events, because they were paused.
    func stop(_ rules: [String]) { state.withLock { $0.shelved?.stop(rules) } }

    /// Makes the next use of the rules read again from the store which rules are paused.
    func forgetPauses() { state.withLock { $0.doubts += 1 } }

    /// The book in force; nil before the first is installed.
    public var book: RuleBook? { state.withLock { $0.shelved?.book } }

    /// Installs these rules: stored first, then in force.
    public func install(_ book: RuleBook, in surroundings: Surroundings) async throws(StoreError) {
        let now = surroundings.clock.now
        let doubts = state.withLock(\.doubts)
        let since = try await surroundings.store.register(book.registrations(at: now), at: now)
        var installed = Shelved(book: book.keeping(try await surroundings.store.formerRules()), since: since)
        installed.stop(try await Self.paused(in: surroundings.store))
        state.withLock { [installed] state in
            state.shelved = installed
            state.installations += 1
            state.settled = max(state.settled, doubts)
        }
        surroundings.bells.router.ring()
        surroundings.bells.timers.ring()
    }
}
