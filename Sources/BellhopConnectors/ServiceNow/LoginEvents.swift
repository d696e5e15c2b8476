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

    /// A login ended; `reason` is empty when it went well.
    func loginEnded(_ session: String, _ number: Int, ok: Bool, reason: String, at now: Timestamp) async {
        let type: EventType = usesKeychain ? .keychainLoginEvent : .loginEvent
        var data = facts
        data["ok"] = .bool(ok)
        data["reason"] = .string(reason)
        await sink.emit([event(type, session, number, data, at: now)])
    }

    /// The server ended the session; a new login follows.
    func sessionExpired(_ session: String, _ number: Int, reason: String, at now: Timestamp) async {
        var data = facts
        data["reason"] = .string(reason)
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
