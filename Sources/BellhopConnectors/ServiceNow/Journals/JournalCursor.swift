import BellhopCore

/// The position of a journal watch, stored with each poll.
struct JournalCursor: Sendable, Hashable {
    /// Earlier entries are not reported: they existed when the watch began.
    var floor: Timestamp
    /// All entries up to here were read, except those committed late.
    var watermark: Timestamp
    /// Reported entries that may be read again.
    var told: [Told]
    /// The tasks' histories as last read; none while the journal itself is read.
    var histories = KnownHistories()
    /// When recent tasks arrived: entries written before are not reported.
    var arrivals: [TaskKey: Timestamp] = [:]
    /// When the journal was last reread from further back, to find late commits.
    var reread: Timestamp

    /// The place entries are read from.
    enum Way: Sendable, Hashable {
        case journal, histories
    }

    /// A reported entry. Each way of reading has its own id for it; its text and time are the same in both.
    struct Told: Sendable, Hashable {
        private(set) var ids: [Way: String]
        let print: String
        let time: Timestamp

        init(_ comment: TaskComment, read way: Way) {
            ids = [way: comment.id]
            let text = String(comment.text.filter { !$0.isWhitespace })
            print = Fingerprint.of("entry", comment.task.text, comment.kind, String(comment.time.seconds), text).hex
            time = comment.time
        }

        init?(json: JSON) {
            guard let print = json[2]?.asString, let time = json[3]?.asInt else { return nil }
            ids = [:]
            ids[.journal] = json[0]?.asString
            ids[.histories] = json[1]?.asString
            self.print = print
            self.time = Timestamp(microseconds: time)
        }

        var json: JSON {
            func text(_ way: Way) -> JSON { ids[way].map { .string($0) } ?? .null }
            return .array([text(.journal), text(.histories), .string(print), .int(time.microseconds)])
        }

        /// Records the id that the other way of reading has for it.
        mutating func meet(_ comment: TaskComment, read way: Way) { ids[way] = comment.id }
    }

    init(at now: Timestamp) {
        floor = now
        watermark = now
        reread = now
        told = []
    }

    init?(json: JSON) {
        guard let floor = json["floor"]?.asInt, let watermark = json["watermark"]?.asInt else { return nil }
        self.floor = Timestamp(microseconds: floor)
        self.watermark = Timestamp(microseconds: watermark)
        reread = json["reread"]?.asInt.map { Timestamp(microseconds: $0) } ?? self.watermark
        told = json["told"]?.asArray?.compactMap(Told.init(json:)) ?? []
        histories = KnownHistories(json: json["histories"])
        for arrival in json["arrivals"]?.asArray ?? [] {
            guard let key = arrival[0]?.asString, let time = arrival[1]?.asInt else { continue }
            arrivals[TaskKey(key)] = Timestamp(microseconds: time)
        }
    }

    var json: JSON {
        var members: JSON.Object = [
            "floor": .int(floor.microseconds), "watermark": .int(watermark.microseconds), "reread": .int(reread.microseconds),
            "told": .array(told.map(\.json)),
        ]
        if !histories.isEmpty { members["histories"] = histories.json }
        if !arrivals.isEmpty {
            members["arrivals"] = .array(
                arrivals.sorted { $0.key < $1.key }.map { .array([.string($0.key.text), .int($0.value.microseconds)]) })
        }
        return .object(members)
    }

    /// Removes what cannot be read again.
    mutating func forget(before still: Timestamp) {
        told.removeAll { $0.time < still }
        arrivals = arrivals.filter { $0.value >= still }
    }

    /// The entries not reported yet, whichever way they were read: a journal row and a history entry share only text and time.
    mutating func sift(_ entries: [TaskComment], read way: Way) -> [TaskComment] {
        var places: [String: Int] = [:]
        var alike: [String: [Int]] = [:]
        for (place, entry) in told.enumerated() {
            if let id = entry.ids[way] { places[id] = place } else { alike[entry.print, default: []].append(place) }
        }
        return entries.filter { entry in
            if way == .journal && entry.time < floor || places[entry.id] != nil { return false }
            guard let place = alike[Told(entry, read: way).print]?.popLast() else { return true }
            told[place].meet(entry, read: way)
            return false
        }
    }
}
