import NIOCore
import NIOPosix
import Synchronization

/// A real-time limit on asynchronous work. Network time is real time: a server does not follow a test's clock.
enum Deadline {
    struct Passed: Error {}

    /// The value of `work`, or throws `Passed` at the deadline and cancels `work`.
    static func run<Value: Sendable>(
        until deadline: NIODeadline, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // An unstructured task rather than a group's child, so that the watch can cancel it from outside.
        let task = Task { try await work() }
        let entry = Watch.shared.enter(deadline) { task.cancel() }
        do {
            let value = try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
            _ = Watch.shared.leave(entry)
            return value
        } catch {
            guard Watch.shared.leave(entry) else { throw Passed() }
            throw error
        }
    }
}

/// All pending deadlines behind one timer: most are met, and a timer for each would cost more than the work it limits.
///
/// A class with a mutex, because requests of all tasks share it.
private final class Watch: Sendable {
    static let shared = Watch()

    private struct State {
        var entries: [UInt64: (deadline: NIODeadline, cancel: @Sendable () -> Void)] = [:]
        var last: UInt64 = 0
        /// When the timer fires next; nil if nothing is pending.
        var alarm: NIODeadline?
    }

    private let state = Mutex(State())

    func enter(_ deadline: NIODeadline, cancel: @escaping @Sendable () -> Void) -> UInt64 {
        let (entry, isFirst) = state.withLock { state in
            state.last += 1
            state.entries[state.last] = (deadline, cancel)
            let isFirst = state.alarm.map { deadline < $0 } ?? true
            if isFirst { state.alarm = deadline }
            return (state.last, isFirst)
        }
        if isFirst { setAlarm(deadline) }
        return entry
    }

    /// False if the deadline has passed.
    func leave(_ entry: UInt64) -> Bool { state.withLock { $0.entries.removeValue(forKey: entry) != nil } }

    private func setAlarm(_ deadline: NIODeadline) {
        _ = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(deadline: deadline) { self.ring() }
    }

    private func ring() {
        let now = NIODeadline.now()
        var late: [@Sendable () -> Void] = []
        let next: NIODeadline? = state.withLock { state in
            for (entry, watched) in state.entries where watched.deadline <= now {
                late.append(watched.cancel)
                state.entries[entry] = nil
            }
            // An earlier alarm set in the meantime stays.
            if let alarm = state.alarm, alarm > now { return nil }
            state.alarm = state.entries.values.lazy.map(\.deadline).min()
            return state.alarm
        }
        for cancel in late { cancel() }
        if let next { setAlarm(next) }
    }
}
