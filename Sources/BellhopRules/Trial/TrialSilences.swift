import BellhopCore

struct TrialSilences: Sendable {
    /// When a silence begins or ends.
    private struct Edge {
        var time: Timestamp
        /// The silence's place.
        var place: Int
    }

    private var all: [Silence]
    private var compiled: SilenceBook
    /// The silences that have begun and not ended: a decision looks at no others, because there may be many.
    private(set) var book = SilenceBook.empty
    /// The places of these silences.
    private var active: Set<Int> = []
    /// The beginnings and ends that lie ahead, the next one last.
    private var edges: [Edge] = []
    /// The silences whose begin and end the rules have seen, and how many deliveries each kept back.
    private var (begun, ended): (Set<String>, Set<String>) = ([], [])
    private var kept: [String: Int] = [:]

    init(_ silences: [Silence], of rules: RuleBook) {
        all = silences.map(\.identified)
        compiled = rules.silences(all)
        sortEdges()
    }

    mutating func add(_ silence: Silence, of rules: RuleBook) {
        all.append(silence.identified)
        compiled = rules.silences(all)
        sortEdges()
        selectActive()
    }

    mutating func forgetBeginnings(before moment: Timestamp) {
        for place in all.indices where all[place].starts < moment {
            begun.insert(all[place].id)
            active.insert(place)
        }
        sortEdges()
        selectActive()
    }

    mutating func count(keptBy silence: String) { kept[silence, default: 0] += 1 }

    /// When the next silence begins or ends.
    var nextEdge: Timestamp? { edges.last?.time }

    /// The events of silences that have begun or ended since the last call.
    mutating func beginAndEnd(at now: Timestamp) -> [Event] {
        var places: Set<Int> = []
        while let edge = edges.last, edge.time <= now {
            places.insert(edge.place)
            edges.removeLast()
        }
        var events: [Event] = []
        for place in places.sorted() {
            let silence = all[place]
            active.insert(place)
            if begun.insert(silence.id).inserted { events.append(.silenceStarted(silence, at: now)) }
            guard silence.ends <= now else { continue }
            active.remove(place)
            guard ended.insert(silence.id).inserted else { continue }
            events.append(.silenceEnded(SilenceRecord(silence, kept: kept[silence.id] ?? 0, ended: now), at: now))
        }
        selectActive()
        return events
    }

    private mutating func sortEdges() {
        edges = []
        for (place, silence) in all.enumerated() {
            if !begun.contains(silence.id) { edges.append(Edge(time: silence.starts, place: place)) }
            if !ended.contains(silence.id) { edges.append(Edge(time: max(silence.starts, silence.ends), place: place)) }
        }
        edges.sort { $0.time > $1.time }
    }

    private mutating func selectActive() { book = compiled.only(active.sorted()) }
}
