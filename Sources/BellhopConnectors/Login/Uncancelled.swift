/// Runs work to its end even if the calling task is cancelled: a refresh token that the server has replaced must be kept.
///
/// The only unstructured task of this module. Its duration is limited by a request's timeout.
func uncancelled<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
    await Task { await work() }.value
}
