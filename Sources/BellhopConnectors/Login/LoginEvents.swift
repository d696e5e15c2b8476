import BellhopCore

/// Emits the events of logins and of ended sessions.
///
/// An event's identity consists of connection, session, time, and the number of the login in the session, so that two logins at the
/// same time have different events.
struct LoginEvents: Sendable {
    var connection: String
    /// The instance's base address.
    var instance: String
    var user: String
    /// Whether the credentials come from the keychain, which has its own event type.
    var usesKeychain: Bool
    var sink: any EventSink

    func loginEnded(_ session: String, _ number: Int, failure: Failure? = nil, at now: Timestamp) async {
        // A cancelled login, for example when the agent stops, has no outcome.
        if failure?.reason == .interrupted { return }
        await emit(
            .login(connection: connection, user: user, usesKeychain: usesKeychain, failure: failure), session, number, at: now)
    }

    /// Emits that the server ended the session; a new login follows.
    /// - Parameter code: the kind of answer that showed it: a 401, a login page, or a message that the session has ended.
    func sessionExpired(
        _ session: String, _ number: Int, reason: String, code: Failure.Reason = .sessionExpired, at now: Timestamp
    ) async {
        await emit(.sessionExpired(connection: connection, user: user, reason: reason, code: code), session, number, at: now)
    }

    /// Emits an event. If it cannot be stored, the login succeeds anyway, and the sink retries the event later.
    private func emit(_ content: EventContent, _ session: String, _ number: Int, at now: Timestamp) async {
        let event = Event(
            content, facts: instance, connection, user, session, String(now.microseconds), String(number),
            source: connection, subject: "\(instance)/\(user)", at: now)
        do throws(StoreError) { try await sink.emit([event]) } catch { sink.retry([event], after: error) }
    }
}
