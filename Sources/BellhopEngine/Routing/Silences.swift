import BellhopCore
import BellhopRules
import Synchronization

/// The silences in force, compiled for the rules in force. They are read from the store when they change, and when one begins or ends.
///
/// A class over a mutex, because the router, the timers and commands share it.
final class Silences: Sendable {
    private struct State {
        /// Nil before the silences are read, and after they changed.
        var book: SilenceBook?
        /// The rules that the book was made for.
        var rules: RuleBook.Identity?
        /// When the next silence begins or ends.
        var next: Timestamp?
        /// When the silences were read. If the clock is earlier, it was set back.
        var read = Timestamp.distantFuture
        /// Counts the calls of ``forget()``: silences that were read before such a call are discarded.
        var changes = 0
    }

    private let state = Mutex(State())

    /// Makes the next update read the silences again.
    func forget() {
        state.withLock { state in
            state.book = nil
            state.changes += 1
        }
    }

    /// When the next silence begins or ends; nil if that is unknown.
    var next: Timestamp? { state.withLock(\.next) }

    /// Begins and ends the silences whose time has come, also in the store, and returns those that have not ended.
    @discardableResult
    func update(for rules: RuleBook, in context: EngineContext) async throws(StoreError) -> SilenceBook {
        let now = context.clock.now
        let (known, changes) = state.withLock { state -> (SilenceBook?, Int) in
            let isCurrent = state.rules == rules.identity && now >= state.read && state.next.map { now < $0 } ?? true
            return (isCurrent ? state.book : nil, state.changes)
        }
        if let known { return known }
        context.checkpoint(.beforeSilences)
        let events = try await context.store.beginAndEndSilences(context.silenceEntries, at: now)
        context.checkpoint(.afterSilences)
        for event in events { context.report(event) }
        if !events.isEmpty { context.bells.router.ring() }
        let open = try await context.store.silences(includingEnded: false).map(\.silence)
        let book = rules.silences(open)
        for (id, problems) in book.refused.sorted(by: { $0.key < $1.key }) {
            context.signals.emit(.silenceRefused(id: id, problem: problems.all.first?.message ?? ""))
        }
        state.withLock { state in
            guard state.changes == changes else { return }
            state.book = book
            state.rules = rules.identity
            state.read = now
            state.next = open.flatMap { [$0.starts, $0.ends] }.filter { $0 > now }.min()
        }
        return book
    }
}
