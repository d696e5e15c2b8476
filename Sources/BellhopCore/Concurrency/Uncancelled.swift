/// Runs work to its end even if the calling task is cancelled. For results that must be stored, such as the outcome of a sent request,
/// or a new refresh token, because the server no longer accepts the old one.
///
/// The only place where a task has no parent. The work must end by itself, as a request does by its timeout.
public func uncancelled<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
    await Task { await work() }.value
}
