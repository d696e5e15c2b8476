/// Runs work to its end even when the calling task is cancelled: what happened outside must be stored, and so must a new
/// refresh token that replaces one which the server no longer accepts.
///
/// The only place where a task has no parent. The work must end by itself, as a request does by its timeout.
public func uncancelled<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
    await Task { await work() }.value
}
