import BellhopCore

extension ServiceNowConnection {
    /// The longest rests, all in all, that a look for what was just written waits out.
    private static let patience = Duration.seconds(60)

    /// Looks again where the server asks for a short rest first: what was just written is not doubtful because of that, and the session that
    /// wrote it is held meanwhile, so nobody else is sent there in it.
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
