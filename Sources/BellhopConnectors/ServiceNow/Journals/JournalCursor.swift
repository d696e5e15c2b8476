import BellhopCore

/// The position of a journal watch, stored with each poll.
struct JournalCursor: Sendable, Hashable {
    /// Earlier entries are not reported: they existed when the watch began.
    var floor: Timestamp
    /// All entries up to here were read, except those committed late.
    var watermark: Timestamp
    /// Reported entries that may be read again.
    var reported: [ReportedEntry] = []
    /// The tasks' histories as last read; empty while the journal's own table is read.
    var histories = KnownHistories()
    /// The last poll before each recent task arrived: entries written before that are not reported.
    var arrivals: [TaskKey: Timestamp] = [:]
    /// When the last deep read was, which starts further back to find late commits.
    var reread: Timestamp

    /// Where entries are read from.
    enum Origin: Sendable, Hashable { case journal, histories }

    /// A reported entry. The journal and the histories have different ids for it, but the same text and time.
    struct ReportedEntry: Sendable, Hashable {
        private(set) var ids: [Origin: String]
        let fingerprint: String
        let time: Timestamp

        init(_ comment: TaskComment, from origin: Origin) {
            ids = [origin: comment.id]
            let text = String(comment.text.filter { !$0.isWhitespace })
            fingerprint = Fingerprint.of("entry", comment.task.text, comment.kind, String(comment.time.seconds), text).hex
            time = comment.time
        }

        init?(json: JSON) {
            guard let fingerprint = json[2]?.asString, let time = json[3]?.asInt else { return nil }
            ids = [:]
            ids[.journal] = json[0]?.asString
            ids[.histories] = json[1]?.asString
            self.fingerprint = fingerprint
            self.time = Timestamp(microseconds: time)
        }

        var json: JSON {
            func text(_ origin: Origin) -> JSON { ids[origin].map { .string($0) } ?? .null }
            return .array([text(.journal), text(.histories), .string(fingerprint), .int(time.microseconds)])
        }

        mutating func addID(_ id: String, from origin: Origin) { ids[origin] = id }
    }

    init(at now: Timestamp) {
        floor = now
        watermark = now
        reread = now
    }

    init?(json: JSON) {
        guard let floor = json["floor"]?.asInt, let watermark = json["watermark"]?.asInt else { return nil }
        self.floor = Timestamp(microseconds: floor)
        self.watermark = Timestamp(microseconds: watermark)
        reread = json["reread"]?.asInt.map { Timestamp(microseconds: $0) } ?? self.watermark
        reported = json["told"]?.asArray?.compactMap(ReportedEntry.init(json:)) ?? []
        histories = KnownHistories(json: json["histories"])
        for arrival in json["arrivals"]?.asArray ?? [] {
            guard let key = arrival[0]?.asString, let time = arrival[1]?.asInt else { continue }
            arrivals[TaskKey(key)] = Timestamp(microseconds: time)
        }
    }

    var json: JSON {
        var members: JSON.Object = [
            "floor": .int(floor.microseconds), "watermark": .int(watermark.microseconds), "reread": .int(reread.microseconds),
            "told": .array(reported.map(\.json)),
        ]
        if !histories.isEmpty { members["histories"] = histories.json }
        if !arrivals.isEmpty {
            members["arrivals"] = .array(
                arrivals.sorted { $0.key < $1.key }.map { .array([.string($0.key.text), .int($0.value.microseconds)]) })
        }
        return .object(members)
    }

    /// Removes entries and arrivals from before a time that is not read again. A history without seconds is read from the start of that
    /// minute.
    mutating func forget(before limit: Timestamp) {
        let limit = limit - .seconds(60)
        reported.removeAll { $0.time < limit }
        arrivals = arrivals.filter { $0.value >= limit }
    }

    /// The entries that were not reported yet. One reported from the other origin is recognized by its text and time.
    mutating func unreported(_ entries: [TaskComment], from origin: Origin) -> [TaskComment] {
        var places: [String: Int] = [:]
        var alike: [String: [Int]] = [:]
        for (place, entry) in reported.enumerated() {
            if let id = entry.ids[origin] { places[id] = place } else { alike[entry.fingerprint, default: []].append(place) }
        }
        return entries.filter { entry in
            if origin == .journal && entry.time < floor || places[entry.id] != nil { return false }
            guard let place = alike[ReportedEntry(entry, from: origin).fingerprint]?.popLast() else { return true }
            reported[place].addID(entry.id, from: origin)
            return false
        }
    }
}
