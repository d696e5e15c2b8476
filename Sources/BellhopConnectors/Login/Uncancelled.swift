/// Runs work to its end even when the task that asks for it is cancelled: a refresh token that the server has replaced must be kept.
///
/// The one place of this floor where a task has no parent. What it runs is bounded by the timeout of a request.
func uncancelled<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
    await Task { await work() }.value
}
