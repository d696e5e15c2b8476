/// Performs deliveries: at least once each, and exactly once if the other side can be read to check.
public protocol Action: Sendable {
    /// The executor for its work, such as the thread of its connections, which saves changes of threads; nil for any executor.
    var executor: (any TaskExecutor)? { get }
    func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt
}

extension Action {
    public var executor: (any TaskExecutor)? { nil }
}

/// Receives events that happen outside of polling, such as logins.
public protocol EventSink: Sendable {
    /// Stores these events before it returns. If it throws, it has stored none of them: the caller reports the error to the sender, or
    /// calls ``retry(_:after:)``. Storing an event again has no effect.
    func emit(_ events: [Event]) async throws(StoreError)
    /// Stores these events later, for a caller that cannot wait. Reports the error, and each event that is finally dropped.
    func retry(_ events: [Event], after error: StoreError)
}

/// Small facts that must survive a restart, such as that a password was refused. Values hold no secrets.
///
/// A note under ``Delivery/noteKey`` is deleted with that delivery, and that of a write already when it is done or dead.
public protocol Notebook: Sendable {
    func note(_ key: String) async throws -> JSON?
    /// Nil deletes it.
    func setNote(_ key: String, to value: JSON?) async throws
}

extension Delivery {
    /// The prefix of the key of a delivery's note, before the delivery's id.
    public static let notePrefix = "unproved/"

    /// The key of this delivery's note, which keeps facts between its attempts.
    public var noteKey: String { Self.notePrefix + id.text }
}
