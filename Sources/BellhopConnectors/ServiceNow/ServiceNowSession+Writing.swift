import BellhopCore

/// The outcome of a write.
enum Written<Found: Sendable>: Sendable {
    case reply(ServiceNowReply)
    /// The server asked for a new login, but had written it.
    case found(Found)
}

extension ServiceNowSession {
    /// Sends a write. If the server answers with a login instead, it may still have written: the result is looked up, and the
    /// write is resent only if it is missing. The server has answered, so the request is no longer running.
    ///
    /// Any failure after the first request leaves the outcome unknown; if the lookup proves nothing, a person decides.
    nonisolated func write<Found: Sendable>(
        _ call: ServiceNowCall, unless look: () async throws(Failure) -> Look<Found>
    ) async throws(Failure) -> Written<Found> {
        switch try await send(call, .first) {
        case .reply(let reply): return .reply(reply)
        case .tokenWanted: break  // stated in its own header; nothing was written
        case .loginWanted:
            switch try await unsure({ () async throws(Failure) in try await look() }) {
            case .written(let found): return .found(found)
            case .absent: break
            case .unprovable(let why):
                throw Failure(
                    .notWritten, .hold,
                    "\(base.place) asked for a new login in answer to the write, which may have succeeded: \(why). "
                        + "Look there, then retry or drop the delivery.")
            }
        }
        do throws(Failure) {
            guard case .reply(let reply) = try await send(call, .last) else {
                preconditionFailure("the last turn returns a reply or throws")
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
