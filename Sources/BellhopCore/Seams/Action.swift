/// Does one thing outside, at least once per delivery, and exactly once where the other side lets itself be read.
public protocol Action: Sendable {
    func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt
}

/// Takes events that happen outside of polling: logins. Kept durably before it returns; a store that cannot keep them is the
/// caller's to survive, so it does not throw.
public protocol EventSink: Sendable {
    func emit(_ events: [Event]) async
}

/// Small facts that must outlive a restart: that a password was refused, say. Values hold no secrets.
///
/// A note under ``Delivery/noteKey`` is forgotten with that delivery.
public protocol Notebook: Sendable {
    func note(_ key: String) async throws -> JSON?
    /// Nil forgets it.
    func setNote(_ key: String, to value: JSON?) async throws
}

extension Delivery {
    /// What the name of a note about a delivery begins with, before the delivery's id.
    public static let notePrefix = "unproved/"

    /// The name of the note about this delivery: what is known of it between its attempts.
    public var noteKey: String { Self.notePrefix + id.text }
}
