import BellhopCore
import HeapModule

/// The messages that quiet times hold in a trial, by their places, found without a look at all of them: a quiet weekend of a busy rule
/// holds very many.
struct TrialHeldMessages: Sendable {
    private var byPlace: [Int64: HeldMessage] = [:]
    private var byName: [String: Set<Int64>] = [:]
    private var byLane: [String: Set<Int64>] = [:]
    private var byEnd: [Timestamp: Set<Int64>] = [:]
    /// The ends of quiet times. The first one holds a message; others may no longer hold any.
    private var ends = Heap<Timestamp>()

    var all: some Collection<HeldMessage> { byPlace.values }

    /// When the next quiet time ends that holds a message.
    var next: Timestamp? { ends.min }

    func messages(until end: Timestamp) -> [HeldMessage] { messages(at: byEnd[end]) }

    func messages(named names: [String]) -> [HeldMessage] {
        messages(at: names.reduce(into: Set()) { $0.formUnion(byName[$1] ?? []) })
    }

    func messages(inLane lane: String) -> [HeldMessage] { messages(at: byLane[lane]) }

    /// In the order in which they were made.
    private func messages(at places: Set<Int64>?) -> [HeldMessage] { (places ?? []).sorted().compactMap { byPlace[$0] } }

    mutating func add(_ message: HeldMessage) {
        let (place, delivery) = (message.place, message.delivery)
        byPlace[place] = message
        byName[delivery.id.text, default: []].insert(place)
        byLane[delivery.lane, default: []].insert(place)
        if byEnd[delivery.runAt] == nil { ends.insert(delivery.runAt) }
        byEnd[delivery.runAt, default: []].insert(place)
    }

    mutating func remove(_ message: HeldMessage) {
        let (place, delivery) = (message.place, message.delivery)
        byPlace[place] = nil
        Self.remove(place, at: delivery.id.text, from: &byName)
        Self.remove(place, at: delivery.lane, from: &byLane)
        Self.remove(place, at: delivery.runAt, from: &byEnd)
        while let end = ends.min, byEnd[end] == nil { ends.removeMin() }
    }

    private static func remove<Key>(_ place: Int64, at key: Key, from places: inout [Key: Set<Int64>]) {
        places[key]?.remove(place)
        if places[key]?.isEmpty ?? false { places[key] = nil }
    }
}
