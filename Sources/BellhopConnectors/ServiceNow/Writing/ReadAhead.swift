import BellhopCore
import Synchronization

/// Prefetched data of the tasks of upcoming deliveries, read together with that of an attempt's own task. It is valid for a short
/// time, until its task is written to.
///
/// A class over a lock, because the attempts of a connection share what one has read.
final class ReadAhead<Value: Sendable>: Sendable {
    private struct State {
        var kept: [TaskKey: (value: Value, asked: Timestamp)] = [:]
        /// The requests in progress, each with the tasks written to in the meantime.
        var questions: [Int: Set<TaskKey>] = [:]
        var latest = 0
    }

    private let state = Mutex(State())
    /// How long prefetched data is valid.
    static var life: Duration { .seconds(30) }

    /// The data of a task, if it was requested at or after a moment.
    func value(of task: TaskKey, since: Timestamp, at now: Timestamp) -> Value? {
        state.withLock { state in
            state.kept = state.kept.filter { $0.value.asked <= now && now - $0.value.asked < Self.life }
            return state.kept[task].flatMap { $0.asked >= since ? $0.value : nil }
        }
    }

    /// Sends the request, and keeps the data of tasks that were not written to in the meantime.
    func asking<Answer: Sendable>(
        at now: Timestamp, _ ask: () async throws(Failure) -> (Answer, [TaskKey: Value])
    ) async throws(Failure) -> Answer {
        let question = state.withLock { state in
            state.latest += 1
            state.questions[state.latest] = []
            return state.latest
        }
        defer { state.withLock { $0.questions[question] = nil } }
        let (answer, values) = try await ask()
        state.withLock { state in
            let written = state.questions[question] ?? []
            for (task, value) in values where !written.contains(task) { state.kept[task] = (value, now) }
        }
        return answer
    }

    /// Drops a task that was written to.
    func forget(_ task: TaskKey) {
        state.withLock { state in
            state.kept[task] = nil
            for question in state.questions.keys { state.questions[question]?.insert(task) }
        }
    }
}

extension Attempt {
    /// The tasks of the receiver's next deliveries, except this attempt's.
    func upcomingTasks(besides task: TaskKey) -> [TaskKey] {
        var seen: Set<TaskKey> = [task]
        return upcoming.compactMap { $0.split(separator: "/").last.map { TaskKey(String($0)) } }
            .filter { ServiceNowConnection.isSysID($0.text) && seen.insert($0).inserted }
    }
}
