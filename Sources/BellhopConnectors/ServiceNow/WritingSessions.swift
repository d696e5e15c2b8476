import BellhopCore
import Synchronization

/// The sessions that write, each lent to one attempt at a time, from the look before a write to its proof: requests of several attempts
/// that took turns in one session would each wait for all the others'.
///
/// A class over a lock, because attempts that know nothing of each other share it.
final class WritingSessions: Sendable {
    let all: [ServiceNowSession]
    private let turns: [FIFOGate]
    /// How many attempts have each, or wait for it.
    private let users: Mutex<[Int]>

    init(_ sessions: [ServiceNowSession]) {
        all = sessions
        turns = sessions.map { _ in FIFOGate() }
        users = Mutex(sessions.map { _ in 0 })
    }

    /// Lends the session that is free, or will be first.
    func lend<Value: Sendable>(_ work: (ServiceNowSession) async throws(Failure) -> Value) async throws(Failure) -> Value {
        let place = users.withLock { users in
            let place = users.indices.min { users[$0] < users[$1] } ?? 0
            users[place] += 1
            return place
        }
        defer { users.withLock { $0[place] -= 1 } }
        return try await turns[place].inTurn { () async throws(Failure) in try await work(all[place]) }
    }
}
