import BellhopCore

/// The result of looking for something that may have been written. A failed lookup is thrown instead.
enum Look<Found: Sendable>: Sendable {
    case written(Found)
    case absent
    /// No proof either way, with the reason as part of a sentence.
    case unprovable(String)
}

extension RecordAction {
    /// Looks up a write that the answer does not confirm; also a refused one: a proxy may have refused it.
    ///
    /// A failed lookup leaves the outcome unknown, so that the next attempt looks again.
    func settle<Found: Sendable>(
        _ failure: Failure, _ look: () async throws(Failure) -> Look<Found>
    ) async throws(Failure) -> Found {
        guard failure.remedy == .unknownOutcome || failure.remedy == .giveUp else { throw failure }
        let finding: Look<Found>
        do throws(Failure) {
            finding = try await look()
        } catch {
            throw Failure(failure.reason, .unknownOutcome, "\(failure.message) The lookup afterwards failed: \(error.message)")
        }
        switch finding {
        case .written(let found): return found
        case .absent, .unprovable: throw failure
        }
    }
}
