import BellhopCore

/// What became of a write.
enum Written<Found: Sendable>: Sendable {
    case reply(ServiceNowReply)
    /// The server asked for another login, and had done it all the same.
    case found(Found)
}

extension ServiceNowSession {
    /// Sends what changes something. Where the server answers with a login instead, nothing says for certain that it did nothing else: after
    /// the new login it is looked for, and sent again only where it is not there. The server has answered, so nothing of it is at work.
    ///
    /// - Parameter look: finds what was written; nil where it is not there, and where nobody may see it.
    nonisolated func write<Found: Sendable>(
        _ call: ServiceNowCall, unless look: () async throws(Failure) -> Found?
    ) async throws(Failure) -> Written<Found> {
        if let reply = try await send(call, .first) { return .reply(reply) }
        if let found = try await look() { return .found(found) }
        guard let reply = try await send(call, .last) else { preconditionFailure("the last turn has a reply or fails") }
        return .reply(reply)
    }
}
