import BellhopCore

/// What became of a write.
enum Written<Found: Sendable>: Sendable {
    case reply(ServiceNowReply)
    /// The server asked for another login, and had done it all the same.
    case found(Found)
}

extension ServiceNowSession {
    /// Sends what changes something. Where the server answers with a login instead, nothing says for certain that it did nothing else: it is
    /// looked for, and sent again only where it is not there. The server has answered, so nothing of it is at work.
    ///
    /// Whatever goes wrong after the first request leaves the outcome unknown; where the look proves nothing, a person decides.
    nonisolated func write<Found: Sendable>(
        _ call: ServiceNowCall, unless look: () async throws(Failure) -> Look<Found>
    ) async throws(Failure) -> Written<Found> {
        switch try await send(call, .first) {
        case .reply(let reply): return .reply(reply)
        case .tokenWanted: break  // it says so in a header of its own, and does nothing then
        case .loginWanted:
            switch try await unsure({ () async throws(Failure) in try await look() }) {
            case .written(let found): return .found(found)
            case .absent: break
            case .unprovable(let why):
                throw Failure(
                    .notWritten, .hold,
                    "\(base.place) asked for a new login in answer to the write, and may have done it before: \(why). "
                        + "Look there, then retry or drop the delivery.")
            }
        }
        do throws(Failure) {
            guard case .reply(let reply) = try await send(call, .last) else {
                preconditionFailure("the last turn has a reply or fails")
            }
            return .reply(reply)
        } catch  where [.sessionExpired, .loginRequired, .unauthenticated, .csrf].contains(error.reason) {
            throw Failure(error.reason, .unknownOutcome, error.message)
        }
    }

    private nonisolated func unsure<Value>(_ work: () async throws(Failure) -> Value) async throws(Failure) -> Value {
        do throws(Failure) {
            return try await work()
        } catch {
            throw Failure(error.reason, .unknownOutcome, "A login was asked for in answer to the write. \(error.message)")
        }
    }
}
