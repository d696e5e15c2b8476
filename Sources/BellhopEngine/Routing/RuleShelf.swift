public import BellhopCore
public import BellhopRules
import Synchronization

/// The rules in force. Reloading replaces the whole book, between two batches.
///
/// A class over a mutex, because the router, the timers and the reloader share the book.
public final class RuleShelf: Sendable {
    /// The rules in force, and the events that each of them sees.
    struct ActiveRules: Sendable {
        var book: RuleBook
        /// The place on the bus after which each rule sees events; `Int64.max` for a paused rule, which sees none.
        var since: [String: Int64]

        mutating func stop(_ rules: [String]) { for rule in rules where since[rule] != nil { since[rule] = .max } }
    }

    private struct State {
        var active: ActiveRules?
        var installations = 0
        /// How many routings failed. Each of them may have paused rules in the store.
        var failures = 0
        /// How many routings had failed when the pauses were last read.
        var failuresAtReading = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// The rules in force, without those that the store has paused.
    func current(in context: EngineContext) async throws(StoreError) -> ActiveRules? {
        let current = state.withLock { $0 }
        guard current.failures > current.failuresAtReading else { return current.active }
        let paused = try await Self.paused(in: context.store)
        return state.withLock { state in
            // Rules that were installed meanwhile have newer pauses.
            if state.installations == current.installations {
                state.active?.stop(paused)
                state.failuresAtReading = max(state.failuresAtReading, current.failures)
            }
            return state.active
        }
    }

    /// The names of the paused rules.
    static func paused(in store: any Store) async throws(StoreError) -> [String] {
        try await store.pauses().compactMap { if case .rule(let name) = $0.subject { name } else { nil } }
    }

    /// Stops events for these rules, because they were paused.
    func stop(_ rules: [String]) { state.withLock { $0.active?.stop(rules) } }

    /// Makes the next use of the rules read the pauses from the store again.
    func forgetPauses() { state.withLock { $0.failures += 1 } }

    /// The book in force; nil before the first is installed.
    public var book: RuleBook? { state.withLock { $0.active?.book } }

    /// Stores these rules, and then puts them in force.
    public func install(_ book: RuleBook, in context: EngineContext) async throws(StoreError) {
        let now = context.clock.now
        let failures = state.withLock(\.failures)
        let since = try await context.store.register(book.registrations(at: now), at: now)
        var installed = ActiveRules(book: book.keeping(try await context.store.formerRules()), since: since)
        installed.stop(try await Self.paused(in: context.store))
        state.withLock { [installed] state in
            state.active = installed
            state.installations += 1
            state.failuresAtReading = max(state.failuresAtReading, failures)
        }
        context.bells.router.ring()
        context.bells.timers.ring()
    }
}
