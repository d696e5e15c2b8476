/// Runs work to its end even when the task that asks for it is cancelled: what happened outside must be written down, and a refresh token
/// that the server has replaced must be kept.
///
/// The one place where a task has no parent. What it runs must end by itself, as a request does by its timeout.
public func uncancelled<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
    await Task { await work() }.value
}
