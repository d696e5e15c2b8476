import BellhopCore
import BellhopRules
import Synchronization

/// The messages that quiet times hold. They are released when their quiet time has ended, before anything else that is due then.
///
/// A class over a mutex, because the router, the timers and commands share it.
final class HeldMessages: Sendable {
    private struct State {
        /// Whether ``next`` agrees with the store.
        var isKnown = false
        var next: Timestamp?
        /// Counts the calls of ``add(_:)`` and ``forget()``: a time that was read from the store before such a call is discarded.
        var changes = 0
    }

    private let state = Mutex(State())

    /// The most times that one release is decided while its messages keep changing.
    private static let maxDecisions = 5

    /// When the next message is to be released; nil if that is unknown, or if no message is held.
    var next: Timestamp? { state.withLock(\.next) }

    /// Makes the next release read the store again, which may have messages that were not added here.
    func forget() {
        state.withLock { state in
            state.isKnown = false
            state.changes += 1
        }
    }

    /// Adds the messages among new deliveries that a quiet time holds.
    func add(_ deliveries: [Delivery]) {
        var next: Timestamp?
        for delivery in deliveries {
            if case .quiet = delivery.initial { next = min(next ?? delivery.runAt, delivery.runAt) }
        }
        guard let next else { return }
        state.withLock { state in
            state.next = min(state.next ?? next, next)
            state.changes += 1
        }
    }

    /// Releases the messages that quiet times no longer hold.
    func release(by book: RuleBook, in context: EngineContext) async throws(StoreError) {
        var conflicts = 0
        while try await isDue(in: context) {
            let now = context.clock.now
            let changes = state.withLock(\.changes)
            let held = try await context.store.released(at: now)
            guard let first = held.first else {
                let next = try await context.store.nextRelease()
                state.withLock { state in if state.changes == changes { state.next = next } }
                if next.map({ $0 > now }) ?? true { return }
                continue
            }
            let silences = try await context.silences.update(for: book, in: context)
            let needs = book.needs(of: held)
            var facts = ReleaseFacts(tasks: try await context.remembered(needs.tasks))
            if !needs.tasks.isEmpty {
                // A poll may have stored the events of this moment already, which come later.
                let earlier = try await EarlierTasks(after: 0, in: context.store, by: book).reloaded()
                for (scope, tasks) in facts.tasks { facts.tasks[scope] = earlier.some(tasks, of: scope) }
            }
            for event in try await context.events(at: needs.events) { facts.events[event.sequence] = event }
            let release = book.release(held, facts, silences: silences, at: now)
            context.checkpoint(.beforeRelease)
            guard try await context.store.release(release) else {
                conflicts += 1
                context.silences.forget()
                if conflicts < Self.maxDecisions { continue }
                throw StoreError(
                    .other,
                    "The release of messages to \(first.delivery.id.receiver) was decided \(conflicts) times, and each time one of the "
                        + "messages had changed meanwhile.")
            }
            context.checkpoint(.afterRelease)
            conflicts = 0
            signal(release, in: context)
        }
    }

    private func isDue(in context: EngineContext) async throws(StoreError) -> Bool {
        let known = state.withLock { $0 }
        if !known.isKnown {
            let next = try await context.store.nextRelease()
            state.withLock { state in
                state.next = [state.next, next].compactMap(\.self).min()
                state.isKnown = state.changes == known.changes
            }
        }
        return next.map { $0 <= context.clock.now } ?? false
    }

    private func signal(_ release: MessageRelease, in context: EngineContext) {
        let signals = context.signals
        var sent = 0
        for (message, treatment) in release.treatments {
            switch treatment {
            case .sent, .joined: sent += 1
            case .silenced(let silence): signals.emit(.silenced(message.delivery, silence: silence))
            case .dropped(let failure): signals.emit(.dropped(message.delivery, failure))
            case .held(let until): signals.emit(.quiet(message.delivery, until: until))
            }
        }
        guard sent > 0, let receiver = release.treatments.first?.message.delivery.id.receiver else { return }
        signals.emit(.released(receiver: receiver, count: sent))
        context.bells.dispatcher.ring()
    }
}
