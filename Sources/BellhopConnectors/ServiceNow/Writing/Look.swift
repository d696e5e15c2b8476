import BellhopCore

/// What a look for something that may have been written told. A look that failed is a failure, and none of these.
enum Look<Found: Sendable>: Sendable {
    case written(Found)
    case absent
    /// Nothing is proved either way, with the reason, as a part of a sentence.
    case unprovable(String)
}

extension RecordAction {
    /// Looks after a write whose answer does not say that it was done; a refusal too, for it may have come from what stands between.
    ///
    /// A look that fails leaves the outcome unknown, so that the next attempt looks again.
    func settle<Found: Sendable>(
        _ failure: Failure, _ look: () async throws(Failure) -> Look<Found>
    ) async throws(Failure) -> Found {
        guard failure.remedy == .unknownOutcome || failure.remedy == .giveUp else { throw failure }
        let finding: Look<Found>
        do throws(Failure) {
            finding = try await look()
        } catch {
            throw Failure(failure.reason, .unknownOutcome, "\(failure.message) Nothing could be looked up then: \(error.message)")
        }
        switch finding {
        case .written(let found): return found
        case .absent, .unprovable: throw failure
        }
    }
}
