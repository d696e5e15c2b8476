import BellhopCore
import Synchronization

/// The writing sessions, each lent to one attempt at a time, from the read before a write to its proof: several attempts taking
/// turns in one session would wait for all of each other's requests.
///
/// A class over a lock, because independent attempts share it.
final class WritingSessions: Sendable {
    let all: [ServiceNowSession]
    private let turns: [FIFOGate]
    /// How many attempts use or await each session.
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
