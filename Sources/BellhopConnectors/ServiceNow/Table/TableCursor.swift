import BellhopCore

/// The position of a table's polls, stored with each poll.
struct TableCursor: Sendable, Hashable {
    /// The latest row time seen; nil if rows have none.
    var watermark: Timestamp?
    /// The last walk over all rows, by the server's clock.
    var reconciled: Timestamp?
    /// The fields of each row: rows read with other fields cannot be compared.
    var shape = ""
    var journal: JournalCursor?

    init() {}

    init?(_ cursor: Cursor?) {
        guard let json = cursor?.value, json.asObject != nil else { return nil }
        watermark = json["watermark"]?.asInt.map { Timestamp(microseconds: $0) }
        reconciled = json["reconciled"]?.asInt.map { Timestamp(microseconds: $0) }
        shape = json["shape"]?.asString ?? ""
        journal = json["journal"].flatMap(JournalCursor.init(json:))
    }

    var cursor: Cursor {
        var members: JSON.Object = ["shape": .string(shape)]
        if let watermark { members["watermark"] = .int(watermark.microseconds) }
        if let reconciled { members["reconciled"] = .int(reconciled.microseconds) }
        if let journal { members["journal"] = journal.json }
        return Cursor(.object(members))
    }
}
