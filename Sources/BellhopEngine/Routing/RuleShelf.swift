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
    }

    private let shelved: Mutex<Shelved?>

    public init() { shelved = Mutex(nil) }

    var current: Shelved? { shelved.withLock { $0 } }

    /// Lets rules see no more events, because they were paused.
    func stop(_ rules: [String]) {
        shelved.withLock { shelved in for rule in rules { shelved?.since[rule] = .max } }
    }

    /// The book in force; nil before the first is installed.
    public var book: RuleBook? { current?.book }

    /// Installs these rules: stored first, then in force.
    public func install(_ book: RuleBook, in surroundings: Surroundings) async throws(StoreError) {
        let now = surroundings.clock.now
        var since = try await surroundings.store.register(book.registrations(at: now), at: now)
        let book = book.keeping(try await surroundings.store.formerRules())
        for case .rule(let name) in try await surroundings.store.pauses().map(\.subject) where since[name] != nil {
            since[name] = .max
        }
        shelved.withLock { $0 = Shelved(book: book, since: since) }
        surroundings.bells.router.ring()
        surroundings.bells.timers.ring()
    }
}
