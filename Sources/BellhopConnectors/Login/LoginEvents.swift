import BellhopCore

/// Reports logins and sessions that ended.
///
/// An event's identity consists of connection, session, time, and the number of the login within the session, so that two logins
/// at the same clock time stay distinct.
struct LoginEvents: Sendable {
    var connection: String
    /// The instance's base address.
    var instance: String
    var user: String
    /// Whether the credentials come from the keychain, which has its own event type.
    var usesKeychain: Bool
    var sink: any EventSink

    func loginEnded(_ session: String, _ number: Int, failure: Failure? = nil, at now: Timestamp) async {
        // A login that was cancelled, as by a stop, has no outcome.
        if failure?.reason == .interrupted { return }
        await emit(
            .login(connection: connection, user: user, usesKeychain: usesKeychain, failure: failure), session, number, at: now)
    }

    /// The server ended the session; a new login follows.
    ///
    /// - Parameter code: how the answer showed it: not logged in, a login page, or a message that the session has ended.
    func sessionExpired(
        _ session: String, _ number: Int, reason: String, code: Failure.Reason = .sessionExpired, at now: Timestamp
    ) async {
        await emit(
            .sessionExpired(connection: connection, user: user, reason: reason, code: code), session, number, at: now)
    }

    /// A login succeeds even if its event cannot be stored yet.
    private func emit(_ content: EventContent, _ session: String, _ number: Int, at now: Timestamp) async {
        let event = Event(
            content, facts: instance, connection, user, session, String(now.microseconds), String(number),
            source: connection, subject: "\(instance)/\(user)", at: now)
        do throws(StoreError) { try await sink.emit([event]) } catch { sink.retry([event], after: error) }
    }
}
