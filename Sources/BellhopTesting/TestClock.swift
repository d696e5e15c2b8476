public import BellhopCore
import Synchronization

/// A clock that only the test moves, so that a test of hours takes no time and is deterministic.
///
/// Sleepers are woken in the order of their deadlines; equal deadlines in the order of falling asleep. The clock shows a
/// sleeper's deadline when it wakes it.
///
/// Between two wakings the clock *settles*, so that woken tasks reach their next sleep: it waits until the woken task runs, then yields its
/// thread several times, and starts over whenever a task reads the time, falls asleep or is cancelled. That is a heuristic. Tasks that work
/// long or wait for a file or a socket may still run afterwards; on a busy machine any task may. For an exact test, say how many sleepers the
/// clock must wait for (``run(until:awaiting:)``, ``waitForSleepers(_:)``), or await the tasks' results before checking them.
///
/// A class over a mutex, because the test and the tested tasks share the clock.
public final class TestClock: AgentClock {
    private struct State {
        var now: Timestamp
        var sleepers: [Int: Sleeper] = [:]
        var counts: [Int: Count] = [:]
        var lastID = 0
        /// The sleepers that were woken but do not run yet.
        var waking: Set<Int> = []
        /// Counts all uses of the clock, for settling.
        var activity = 0
    }

    private struct Sleeper {
        var deadline: Timestamp
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct Count {
        var sleepers: Int
        var continuation: CheckedContinuation<Void, any Error>
    }

    private let state: Mutex<State>
    private let settlingYields: Int

    /// A clock that shows a moment, by default 2026-01-05T09:00:00Z, a Monday.
    /// - Parameter settlingYields: how many yields in a row without any use of the clock count as settled.
    public init(at now: Timestamp = Timestamp(seconds: 1_767_603_600), settlingYields: Int = 100) {
        state = Mutex(State(now: now))
        self.settlingYields = settlingYields
    }

    public var now: Timestamp {
        state.withLock {
            $0.activity += 1
            return $0.now
        }
    }

    public func sleep(until deadline: Timestamp) async throws {
        let id = newID()
        defer { awake(id) }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { fallAsleep(id, until: deadline, $0) }
        } onCancel: {
            cancel(id)
        }
    }

    /// How many tasks are asleep.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// The earliest deadline; nil if no task sleeps.
    public var nextDeadline: Timestamp? { state.withLock { $0.sleepers.values.map(\.deadline).min() } }

    /// Returns once at least `count` tasks sleep.
    /// - Throws: `CancellationError` when the test is cancelled first, as by its time limit.
    public func waitForSleepers(_ count: Int) async throws {
        let id = newID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.sleepers.count >= count { return .success(()) }
                    state.counts[id] = Count(sleepers: count, continuation: continuation)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            cancel(id)
        }
    }

    /// Moves the clock forward by a duration, waking sleepers in order.
    public func advance(by duration: Duration) async {
        await settle()
        await advance(to: state.withLock { $0.now } + duration)
    }

    /// Moves the clock forward to a moment, waking sleepers in order, including those that fall asleep on the way.
    public func advance(to target: Timestamp) async {
        repeat { await settle() } while wakeNext(until: target) != .arrived
    }

    /// Jumps from deadline to deadline until a moment, each time waiting until enough tasks sleep.
    ///
    /// For loops that do real work between their sleeps: the clock waits for them, however long they take. It does not move
    /// while fewer sleep, even if enough slept a moment before and one of them was cancelled.
    /// - Throws: `CancellationError` when the test is cancelled while fewer sleep.
    public func run(until end: Timestamp, awaiting sleepers: Int = 0) async throws {
        repeat {
            try await waitForSleepers(sleepers)
            await settle()
        } while wakeNext(until: end, awaiting: sleepers) != .arrived
    }

    /// Sets the clock, forward or back, like a wall clock: all sleepers that are then due wake at once, and see that time.
    public func jump(to moment: Timestamp) async {
        await settle()
        let due = state.withLock { state in
            state.now = moment
            let due = state.sleepers.filter { $0.value.deadline <= moment }.sorted { Self.order($0) < Self.order($1) }
            for (id, _) in due {
                state.sleepers[id] = nil
                state.waking.insert(id)
            }
            return due
        }
        for (_, sleeper) in due { sleeper.continuation.resume() }
        await settle()
    }

    /// Lets other tasks run until they have not used the clock for a while, or gives up.
    public func settle() async {
        var seen = -1
        var quiet = 0
        var turns = 0
        while quiet < settlingYields, turns < settlingYields * 1000 {
            turns += 1
            await Task.yield()
            let (activity, isWaking) = state.withLock { ($0.activity, !$0.waking.isEmpty) }
            quiet = activity == seen && !isWaking ? quiet + 1 : 0
            seen = activity
        }
    }

    private static func order(_ entry: (key: Int, value: Sleeper)) -> (Timestamp, Int) {
        (entry.value.deadline, entry.key)
    }

    private func newID() -> Int {
        state.withLock {
            $0.lastID += 1
            return $0.lastID
        }
    }

    /// Records that a sleeper runs again.
    private func awake(_ id: Int) {
        state.withLock {
            $0.activity += 1
            $0.waking.remove(id)
        }
    }

    private func fallAsleep(_ id: Int, until deadline: Timestamp, _ continuation: CheckedContinuation<Void, any Error>) {
        let (outcome, satisfied) = state.withLock { state -> (Result<Void, any Error>?, [Count]) in
            state.activity += 1
            // A cancellation before this point found no sleeper to wake; check for it here.
            if Task.isCancelled { return (.failure(CancellationError()), []) }
            if deadline <= state.now { return (.success(()), []) }
            state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
            let satisfied = state.counts.filter { $0.value.sleepers <= state.sleepers.count }
            for id in satisfied.keys { state.counts[id] = nil }
            return (nil, Array(satisfied.values))
        }
        if let outcome { continuation.resume(with: outcome) }
        for count in satisfied { count.continuation.resume() }
    }

    /// Ends the sleep or wait with that number with an error, if it has begun.
    private func cancel(_ id: Int) {
        let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            state.activity += 1
            if let sleeper = state.sleepers.removeValue(forKey: id) {
                state.waking.insert(id)
                return sleeper.continuation
            }
            return state.counts.removeValue(forKey: id)?.continuation
        }
        continuation?.resume(throwing: CancellationError())
    }

    private enum Move {
        case wokeSleeper, arrived, tooFewSleepers
    }

    /// Moves to the next deadline and wakes its sleeper; if none is due by the target, moves there. Does nothing while fewer than
    /// that many sleep.
    private func wakeNext(until target: Timestamp, awaiting sleepers: Int = 0) -> Move {
        let (move, sleeper) = state.withLock { state -> (Move, Sleeper?) in
            if state.sleepers.count < sleepers { return (.tooFewSleepers, nil) }
            guard let next = state.sleepers.min(by: { Self.order($0) < Self.order($1) }), next.value.deadline <= target else {
                state.now = max(state.now, target)
                return (.arrived, nil)
            }
            state.now = max(state.now, next.value.deadline)
            state.waking.insert(next.key)
            return (.wokeSleeper, state.sleepers.removeValue(forKey: next.key))
        }
        sleeper?.continuation.resume()
        return move
    }
}
