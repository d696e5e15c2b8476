import BellhopCore

@testable import BellhopConnectors

/// The memory of a poller: the tasks known from a source's answers.
struct TableObserver {
    var lastPoll = LastPoll()

    mutating func poll(_ source: some Source) async throws -> (Answer, Comparison) {
        let answer = try await source.list(from: lastPoll)
        let comparison = lastPoll.known.compare(with: answer)
        for place in comparison.new + comparison.changed {
            let entry = answer.listing.entries[place]
            lastPoll.known.set(KnownTask(key: entry.key, listed: entry.fingerprint))
        }
        lastPoll.known.remove(comparison.gone)
        lastPoll.cursor = answer.cursor
        if answer.coverage != .same { lastPoll.answer = answer.fingerprint }
        return (answer, comparison)
    }

    /// Polls, and returns the tasks that are new or changed.
    mutating func changes(in source: some Source) async throws -> [String] {
        let (answer, comparison) = try await poll(source)
        return (comparison.new + comparison.changed).map { answer.listing.entries[$0].key.text }.sorted()
    }
}

extension Source {
    /// The fields that this source defines otherwise than `before` did.
    func redefined(since before: some Source) -> Set<String> {
        FieldDefinitions().updated(to: before.definitions).updated(to: definitions).redefined(since: 0)
    }
}
