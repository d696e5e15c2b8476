/// Performs deliveries: at least once each, and exactly once if the other side can be read to check.
public protocol Action: Sendable {
    /// Where to perform it, such as the thread that has its connections, so that no time is lost between threads; nil for anywhere.
    var executor: (any TaskExecutor)? { get }
    func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt
}

extension Action {
    public var executor: (any TaskExecutor)? { nil }
}

/// Receives events that happen outside of polling, such as logins.
public protocol EventSink: Sendable {
    /// Stores these events before it returns. When it throws, it has stored none of them: the caller reports that to whoever brought
    /// them, or calls ``retry(_:after:)``. Storing an event again does nothing.
    func emit(_ events: [Event]) async throws(StoreError)
    /// Stores these events later, for a caller that must go on without them. Reports the error, and each event that is dropped in the end.
    func retry(_ events: [Event], after error: StoreError)
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
