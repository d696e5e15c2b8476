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
        /// How often the store may have paused rules of which this does not know.
        var doubts = 0

        mutating func stop(_ rules: [String]) {
            for rule in rules where since[rule] != nil { since[rule] = .max }
        }
    }

    private let shelved: Mutex<Shelved?>

    public init() { shelved = Mutex(nil) }

    /// The rules in force, without those that the store has paused.
    func current(in surroundings: Surroundings) async throws(StoreError) -> Shelved? {
        let current = shelved.withLock { $0 }
        guard let doubts = current?.doubts, doubts > 0 else { return current }
        let paused = try await Self.paused(in: surroundings.store)
        return shelved.withLock { shelved in
            // Rules that were installed meanwhile know their pauses.
            if shelved?.book.identity == current?.book.identity {
                shelved?.stop(paused)
                shelved?.doubts -= doubts
            }
            return shelved
        }
    }

    private static func paused(in store: any Store) async throws(StoreError) -> [String] {
        try await store.pauses().compactMap { if case .rule(let name) = $0.subject { name } else { nil } }
    }

    /// Lets rules see no more events, because they were paused.
    func stop(_ rules: [String]) { shelved.withLock { $0?.stop(rules) } }

    /// Has the store asked again which rules are paused.
    func forgetPauses() { shelved.withLock { $0?.doubts += 1 } }

    /// The book in force; nil before the first is installed.
    public var book: RuleBook? { shelved.withLock { $0?.book } }

    /// Installs these rules: stored first, then in force.
    public func install(_ book: RuleBook, in surroundings: Surroundings) async throws(StoreError) {
        let now = surroundings.clock.now
        let since = try await surroundings.store.register(book.registrations(at: now), at: now)
        var installed = Shelved(book: book.keeping(try await surroundings.store.formerRules()), since: since)
        installed.stop(try await Self.paused(in: surroundings.store))
        shelved.withLock { [installed] in $0 = installed }
        surroundings.bells.router.ring()
        surroundings.bells.timers.ring()
    }
}
