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
    var told: [String]

    init(at now: Timestamp) {
        floor = now
        watermark = now
        told = []
    }

    init?(json: JSON) {
        guard let floor = json["floor"]?.asInt, let watermark = json["watermark"]?.asInt else { return nil }
        self.floor = Timestamp(microseconds: floor)
        self.watermark = Timestamp(microseconds: watermark)
        told = json["told"]?.asArray?.compactMap(\.asString) ?? []
    }

    var json: JSON {
        [
            "floor": .int(floor.microseconds), "watermark": .int(watermark.microseconds),
            "told": .array(told.map { .string($0) }),
        ]
    }
}
