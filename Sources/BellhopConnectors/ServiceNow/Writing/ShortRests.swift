import BellhopCore

extension ServiceNowConnection {
    /// The longest total wait for rests requested during a lookup after a write.
    private static let patience = Duration.seconds(60)

    /// Repeats a lookup after short rests requested by the server: these do not make the write doubtful. The session that wrote
    /// is held meanwhile, so no other attempt uses it.
    func outlastingShortRests<Value: Sendable>(_ look: () async throws(Failure) -> Value) async throws(Failure) -> Value {
        var left = Self.patience
        while true {
            do throws(Failure) {
                return try await look()
            } catch {
                guard case .rest(let wait) = error.remedy else { throw error }
                let rest = max(wait ?? .seconds(5), .milliseconds(100))
                left -= rest
                guard left >= .zero, (try? await clock.sleep(for: rest)) != nil else { throw error }
            }
        }
    }
}
