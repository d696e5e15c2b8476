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
        /// The number of their installation.
        let installation: Int

        mutating func stop(_ rules: [String]) { for rule in rules where since[rule] != nil { since[rule] = .max } }
    }

    private struct State {
        var active: ActiveRules?
        var installations = 0
        /// The rules to install before the next use. The store may differ from the active ones: it failed during an installation, or
        /// during a routing that may have paused some.
        var toInstall: RuleBook?
    }

    private let state = Mutex(State())

    public init() {}

    /// The rules in force, without those that the store has paused.
    func current(in context: EngineContext) async throws(StoreError) -> ActiveRules? {
        if state.withLock({ $0.toInstall != nil }) {
            await context.routing.enterUncancelled()
            defer { context.routing.leave() }
            if let book = state.withLock({ $0.toInstall }) { try await installInGate(book, in: context) }
        }
        return state.withLock { $0.active }
    }

    /// Whether these rules are still in force, so that what they decide may be stored.
    func isInForce(_ rules: ActiveRules) -> Bool {
        state.withLock { $0.toInstall == nil && $0.installations == rules.installation }
    }

    /// The names of the paused rules.
    static func paused(in store: any Store) async throws(StoreError) -> [String] {
        try await store.pauses().compactMap { if case .rule(let name) = $0.subject { name } else { nil } }
    }

    /// Stops events for these rules, because they were paused.
    func stop(_ rules: [String]) { state.withLock { $0.active?.stop(rules) } }

    /// Lets the next use of the rules install them again, because a failed routing may have paused some in the store. Call this inside
    /// the gate of the routings.
    func installAtNextUse() { state.withLock { $0.toInstall = $0.toInstall ?? $0.active?.book } }

    /// The book in force; nil before the first is installed.
    public var book: RuleBook? { state.withLock { $0.active?.book } }

    /// Stores these rules and puts them in force, between two routings. If the store fails, they come into force with their next use.
    public func install(_ book: RuleBook, in context: EngineContext) async throws(StoreError) {
        await context.routing.enterUncancelled()
        defer { context.routing.leave() }
        try await installInGate(book, in: context)
    }

    /// Installs the rules in force again, after a person paused or resumed one.
    public func installAgain(in context: EngineContext) async throws(StoreError) {
        await context.routing.enterUncancelled()
        defer { context.routing.leave() }
        if let book = state.withLock({ $0.toInstall ?? $0.active?.book }) { try await installInGate(book, in: context) }
    }

    /// The steps of an installation. Call this inside the gate of the routings: no routing by other rules may be stored between them.
    private func installInGate(_ book: RuleBook, in context: EngineContext) async throws(StoreError) {
        state.withLock { $0.toInstall = book }
        let now = context.clock.now
        let registered = try await context.store.register(book.registrations(at: now), at: now)
        for ended in registered.ended { context.signals.emit(.waitsEnded(ended)) }
        let kept = book.keeping(try await context.store.formerRules())
        let paused = try await Self.paused(in: context.store)
        state.withLock { state in
            state.installations += 1
            var active = ActiveRules(book: kept, since: registered.since, installation: state.installations)
            active.stop(paused)
            state.active = active
            state.toInstall = nil
        }
        context.bells.router.ring()
        context.bells.timers.ring()
    }
}
