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

    /// The event type for logins.
    static func type(usesKeychain: Bool) -> EventType { usesKeychain ? .keychainLoginEvent : .loginEvent }

    /// A login ended; `reason` and `code` are empty on success.
    func loginEnded(_ session: String, _ number: Int, failure: Failure? = nil, at now: Timestamp) async {
        // A login that was cancelled, as by a stop, has no outcome.
        if failure?.reason == .interrupted { return }
        let type = Self.type(usesKeychain: usesKeychain)
        var data = facts
        data["ok"] = .bool(failure == nil)
        data["reason"] = .string(failure?.message ?? "")
        data["code"] = .string(failure?.reason.rawValue ?? "")
        await emit(event(type, session, number, data, at: now))
    }

    /// The server ended the session; a new login follows.
    ///
    /// - Parameter code: what its answer showed: not logged in, a login page, or a named end.
    func sessionExpired(
        _ session: String, _ number: Int, reason: String, code: Failure.Reason = .sessionExpired, at now: Timestamp
    ) async {
        var data = facts
        data["reason"] = .string(reason)
        data["code"] = .string(code.rawValue)
        await emit(event(.sessionExpired, session, number, data, at: now))
    }

    /// A login succeeds even if its event cannot be stored yet.
    private func emit(_ event: Event) async {
        do throws(StoreError) { try await sink.emit([event]) } catch { sink.retry([event], after: error) }
    }

    private var facts: JSON.Object { ["connection": .string(connection), "user": .string(user)] }

    private func event(_ type: EventType, _ session: String, _ number: Int, _ data: JSON.Object, at now: Timestamp) -> Event {
        Event(
            id: Event.ID(
                type: type, facts: instance, connection, user, session, String(now.microseconds), String(number)),
            type: type,
            source: connection, subject: "\(instance)/\(user)", time: now, data: data)
    }
}
