/// Performs deliveries: at least once each, and exactly once if the other side can be read to check.
public protocol Action: Sendable {
    func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt
}

/// Receives events that happen outside of polling: logins. Stores them before it returns; does not throw, because the caller must
/// continue even if the store fails.
public protocol EventSink: Sendable {
    func emit(_ events: [Event]) async
}

/// Small facts that must survive a restart, such as that a password was refused. Values hold no secrets.
///
/// A note under ``Delivery/noteKey`` is deleted with that delivery.
public protocol Notebook: Sendable {
    func note(_ key: String) async throws -> JSON?
    /// Nil deletes it.
    func setNote(_ key: String, to value: JSON?) async throws
}

extension Delivery {
    /// The prefix of a note's name about a delivery, before the delivery's id.
    public static let notePrefix = "unproved/"

    /// The name of the note about this delivery: what is known about it between its attempts.
    public var noteKey: String { Self.notePrefix + id.text }
}
