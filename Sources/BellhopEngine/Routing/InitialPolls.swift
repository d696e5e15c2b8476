public import BellhopCore
import Synchronization

/// Whether each source was polled since the agent started or the machine woke, and whether a poll was good.
///
/// A class over a mutex, because pollers write it and timers read it.
public final class InitialPolls: Sendable {
    /// The longest that a hanging source delays the timers that read its tasks.
    static let timeout = Duration.seconds(60)
    /// The longest that a failing source delays the timers that wait for its first good poll.
    static let timeoutForGoodPolls = Duration.seconds(15 * 60)
    /// A machine that slept, or a clock that was put forward, by more than this counts as downtime.
    static let leastDowntime = Duration.seconds(60)

    private struct Missing {
        var started: Timestamp
        var polls: Set<Scope.ID>
        /// The sources that have had no good poll, and until when timers wait for one.
        var goodPolls: [Scope.ID: Timestamp]
        /// The sources for which a notice has said that timers no longer wait.
        var reported: Set<Scope.ID> = []
        /// When the first poll of each ended.
        var ends: [Scope.ID: Timestamp] = [:]
        /// When the first good poll of each ended.
        var goodEnds: [Scope.ID: Timestamp] = [:]

        init(_ scopes: Set<Scope.ID>, started: Timestamp) {
            self.started = started
            polls = scopes
            goodPolls = scopes.reduce(into: [:]) { $0[$1] = started + InitialPolls.timeoutForGoodPolls }
        }
    }

    private let scopes: Set<Scope.ID>
    private let missing: Mutex<Missing>

    /// - Parameters:
    ///   - scopes: the sources that will be polled.
    ///   - started: when the agent started.
    public init(_ scopes: [Scope.ID] = [], started: Timestamp) {
        let scopes = Set(scopes)
        self.scopes = scopes
        missing = Mutex(Missing(scopes, started: started))
    }

    /// When the agent started, or went on after the machine had slept.
    var started: Timestamp { missing.withLock { $0.started } }

    /// Begins anew, because the agent did not run from one moment until now: the machine slept, or the clock was put forward. Does nothing
    /// if another loop has noticed this before.
    func beginAnew(at now: Timestamp, after moment: Timestamp) {
        missing.withLock { missing in
            // A start that lies ahead is from before the clock was set back.
            guard missing.started <= moment || missing.started > now else { return }
            missing = Missing(scopes, started: now)
        }
    }

    /// Corrects times that are in the future because the clock was set back.
    func correctFutureTimes(to now: Timestamp) {
        missing.withLock { missing in
            missing.started = min(missing.started, now)
            missing.goodPolls = missing.goodPolls.mapValues { min($0, now + Self.timeoutForGoodPolls) }
            missing.ends = missing.ends.mapValues { min($0, now) }
            missing.goodEnds = missing.goodEnds.mapValues { min($0, now) }
        }
    }

    /// - Parameter start: ``started`` when the poll began. A poll during which the machine slept may have tasks from before.
    func markPolled(_ scope: Scope.ID, isGood: Bool, since start: Timestamp, in context: EngineContext) {
        let now = context.clock.now
        let mayReleaseTimers = missing.withLock { missing in
            guard missing.started == start else { return false }
            let isFirst = missing.polls.remove(scope) != nil
            if isFirst { missing.ends[scope] = now }
            let isFirstGood = isGood && missing.goodPolls.removeValue(forKey: scope) != nil
            if isFirstGood { missing.goodEnds[scope] = now }
            return isFirst || isFirstGood
        }
        if mayReleaseTimers { context.bells.timers.ring() }
    }

    /// Whether at least one of these scopes was not polled yet.
    func isMissing(_ scopes: some Sequence<Scope.ID>) -> Bool {
        missing.withLock { missing in scopes.contains { missing.polls.contains($0) } }
    }

    /// Whether all of these scopes had been polled at a moment.
    func hadPolled(_ scopes: some Sequence<Scope.ID>, at moment: Timestamp) -> Bool {
        missing.withLock { missing in
            scopes.allSatisfy { !missing.polls.contains($0) && missing.ends[$0] ?? .distantPast <= moment }
        }
    }

    /// Whether timers that were due at a moment did not wait for good polls of these scopes: each had had one, or their time was over.
    func hadGoodPolls(_ scopes: some Sequence<Scope.ID>, at moment: Timestamp) -> Bool {
        missing.withLock { missing in
            scopes.allSatisfy { (missing.goodPolls[$0] ?? missing.goodEnds[$0] ?? .distantPast) <= moment }
        }
    }

    /// Lets timers wait for this source, whose poll failed or was held.
    /// - Parameter since: when the current series of such polls began, possibly in an earlier run.
    func wait(for scope: Scope.ID, since: Timestamp) {
        missing.withLock { $0.goodPolls[scope] = since + Self.timeoutForGoodPolls }
    }

    func mustWait(for scope: Scope.ID, at now: Timestamp) -> Bool {
        missing.withLock { $0.goodPolls[scope].map { now < $0 } ?? false }
    }

    /// When timers next give up waiting for polls; nil if none waits.
    func nextTimeout(after now: Timestamp) -> Timestamp? {
        missing.withLock { missing in
            let first = missing.polls.isEmpty ? [] : [missing.started + Self.timeout]
            return (Array(missing.goodPolls.values) + first).filter { $0 > now }.min()
        }
    }

    /// Whether timers have given up waiting for a good poll of this scope. True only at the first call for each scope.
    func isNewlyOverdue(_ scope: Scope.ID, at now: Timestamp) -> Bool {
        missing.withLock { missing in
            missing.goodPolls[scope].map { now >= $0 } ?? false && missing.reported.insert(scope).inserted
        }
    }

    var areGood: Bool { missing.withLock { $0.goodPolls.isEmpty } }
}
