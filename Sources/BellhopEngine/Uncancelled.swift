/// Runs work to its end even when the task that asks for it is cancelled: what happened outside must be written down.
///
/// The one place where a task has no parent.
func uncancelled<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
    await Task { await work() }.value
}
