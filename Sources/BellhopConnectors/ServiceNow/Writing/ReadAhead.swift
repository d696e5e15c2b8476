import BellhopCore
import Synchronization

/// What was read of tasks whose deliveries come next, together with the task of an attempt: it serves their attempts, for a short time, and
/// not once their task was written to.
///
/// A class over a lock, because what one attempt has read serves the others of the connection.
final class ReadAhead<Value: Sendable>: Sendable {
    private struct State {
        var kept: [TaskKey: (value: Value, asked: Timestamp)] = [:]
        /// The questions that are under way, each with the tasks that were written to meanwhile.
        var questions: [Int: Set<TaskKey>] = [:]
        var latest = 0
    }

    private let state = Mutex(State())
    /// What was read serves for so long.
    static var life: Duration { .seconds(30) }

    /// What was read of a task, by a question that was not asked before a moment.
    func value(of task: TaskKey, since: Timestamp, at now: Timestamp) -> Value? {
        state.withLock { state in
            state.kept = state.kept.filter { $0.value.asked <= now && now - $0.value.asked < Self.life }
            return state.kept[task].flatMap { $0.asked >= since ? $0.value : nil }
        }
    }

    /// Asks, and keeps what was read of tasks that nothing was written to meanwhile.
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

    /// Forgets a task that was written to.
    func forget(_ task: TaskKey) {
        state.withLock { state in
            state.kept[task] = nil
            for question in state.questions.keys { state.questions[question]?.insert(task) }
        }
    }
}

extension Attempt {
    /// The tasks of the next so many deliveries of the receiver, but for the one of this attempt.
    func upcomingTasks(besides task: TaskKey, most: Int = .max) -> [TaskKey] {
        var seen: Set<TaskKey> = [task]
        return upcoming.compactMap { $0.split(separator: "/").last.map { TaskKey(String($0)) } }
            .filter { ServiceNowConnection.isSysID($0.text) && seen.insert($0).inserted }.prefix(most).map(\.self)
    }
}
