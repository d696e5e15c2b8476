import BellhopCore

/// The journals a source can watch, by the names of their fields.
enum JournalKind {
    static let all = ["comments", "work_notes"]
}

/// Where the watch of journals stands, as it is kept with each poll.
struct JournalCursor: Sendable, Hashable {
    /// Entries from before this moment are not told: they were there when the watch began.
    var floor: Timestamp
    /// All entries up to here were read, but for those that were committed late.
    var watermark: Timestamp
    /// The entries that were told and may be read again.
    var told: [Told]
    /// The tasks' histories as they were read last; none while the journal itself is read.
    var histories = KnownHistories()
    /// When tasks came that came lately: what was written on them before is not told.
    var arrivals: [TaskKey: Timestamp] = [:]
    /// When the journal was last read again from further back, for what was committed very late.
    var reread: Timestamp

    /// Where entries are read.
    enum Way: Sendable, Hashable {
        case journal, histories
    }

    /// An entry that was told. Each way of reading has an id of its own for it; what it says, and when, both show.
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

        /// Takes the id that the other way of reading has for it.
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

    /// Forgets what cannot be read again.
    mutating func forget(before still: Timestamp) {
        told.removeAll { $0.time < still }
        arrivals = arrivals.filter { $0.value >= still }
    }

    /// The entries that were not told yet, however they were read then: a row of the journal and a line in a history have nothing in common
    /// but what they say, and when.
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
