import BellhopCore

/// Tells of logins and of sessions that ended.
///
/// An event's identity is made of connection, session, time, and the number of the login within the session: a clock that stands
/// still for two logins does not make one of them.
struct LoginEvents: Sendable {
    var connection: String
    /// The instance's base address.
    var instance: String
    var user: String
    /// Whether the credentials come from the keychain: that has an event type of its own.
    var usesKeychain: Bool
    var sink: any EventSink

    /// The type of event that logins are told by.
    static func type(usesKeychain: Bool) -> EventType { usesKeychain ? .keychainLoginEvent : .loginEvent }

    /// A login ended, well where nothing failed: `reason` and `code` are empty then.
    func loginEnded(_ session: String, _ number: Int, failure: Failure? = nil, at now: Timestamp) async {
        let type = Self.type(usesKeychain: usesKeychain)
        var data = facts
        data["ok"] = .bool(failure == nil)
        data["reason"] = .string(failure?.message ?? "")
        data["code"] = .string(failure?.reason.rawValue ?? "")
        await sink.emit([event(type, session, number, data, at: now)])
    }

    /// The server ended the session; a new login follows.
    ///
    /// - Parameter code: what its answer showed: no login any more, a page to log in at, or an end that it names.
    func sessionExpired(
        _ session: String, _ number: Int, reason: String, code: Failure.Reason = .sessionExpired, at now: Timestamp
    ) async {
        var data = facts
        data["reason"] = .string(reason)
        data["code"] = .string(code.rawValue)
        await sink.emit([event(.sessionExpired, session, number, data, at: now)])
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
