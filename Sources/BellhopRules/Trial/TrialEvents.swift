import BellhopCore

/// The events of a trial that may still be needed: those for which a rule ran, and those for digests.
struct TrialEvents: Sendable {
    private(set) var byPlace: [Int64: StoredEvent] = [:]
    /// The types of events in digests; empty if no rule reads a digest.
    private let types: Set<EventType>
    /// The events for digests, by their places.
    private var forDigests: [StoredEvent] = []
    private let digestKeys: [StateKey]

    init(_ book: RuleBook) {
        let readers = book.compiled.filter { $0.readsDigest && !$0.isOff }
        digestKeys = readers.map(\.digestKey)
        types = readers.isEmpty ? [] : Set(book.facts.typesOfSources)
    }

    subscript(place: Int64) -> StoredEvent? { byPlace[place] }

    mutating func keep(_ event: StoredEvent) { byPlace[event.sequence] = event }

    mutating func keepForDigests(_ event: StoredEvent) {
        guard types.contains(event.event.type) else { return }
        forDigests.append(event)
        if forDigests.count > 2 * Self.maxForDigests { forDigests.removeFirst(Self.maxForDigests) }
    }

    /// At least this many of the latest events are kept for digests, and at most twice as many.
    private static let maxForDigests = 50_000

    func digest(_ query: DigestQuery) -> Digest {
        // Another rule's digest may be due so seldom that very many older events are kept for it.
        let first = forDigests.partitioningIndex { $0.sequence > query.after }
        let all: [StoredEvent] = forDigests[first...].filter(query.contains)
        return Digest(events: all.suffix(DigestQuery.most), more: max(0, all.count - DigestQuery.most))
    }

    /// Forgets events that are not needed, and events that are older than the next digest of every rule.
    mutating func forget(except needed: Set<Int64>, _ state: RuleState) {
        byPlace = byPlace.filter { needed.contains($0.key) }
        let delivered = digestKeys.map { state[$0]?["event"]?.asInt ?? .min }.min() ?? .max
        forDigests.removeAll { $0.sequence <= delivered }
    }
}
